"""Convert spans to traces: the query, and the list of every step, in order."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from assay.eval.studies.traces.documents import RecordedDocument, unique
from assay.eval.studies.traces.files import read_spans
from assay.eval.studies.traces.spans import EMBEDDING, RERANKER, RETRIEVER, TOOL, Span
from assay.retrievers.base import AssayError
from assay.retrievers.base.bounds import LINE

LEG, FUSION, STAGE, QUERY = "leg", "fusion", "stage", "query"
KINDS = (QUERY, LEG, FUSION, STAGE)
FUSES = re.compile(r"fus(?:e|ion)|\brrf\b|merge|combin|ensemble|hybrid|interleav", re.IGNORECASE)
REPEATED = "document with the id and text of one above it in its list (counted once)"
MILLION = 1_000_000  # nanoseconds of a millisecond
MOST_NAMES = 10_000  # names of retrievers
MOST_SPANS = 5_000  # spans of a search; time grows with their square


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A step of a search.

    `documents` is its list, best first; None if it only changed the query. `inferred` is True if
    its kind or its list was inferred rather than stated by a span.
    """

    name: str
    kind: str
    milliseconds: float
    documents: Sequence[RecordedDocument] | None
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded search: `time` is in nanoseconds since the epoch, `steps` are in order."""

    id: str
    query: str
    time: int
    milliseconds: float
    session: str
    answer: str
    steps: tuple[TracedStep, ...]

    @property
    def found(self) -> Sequence[RecordedDocument]:
        """The list of the last step that has one: the final result."""
        lists = [step.documents for step in self.steps if step.documents is not None]
        return lists[-1]


class TraceBook:
    """The spans of all sources by trace, in a private file that is deleted when it is closed.

    `faults` counts skipped spans by a description, `spans` is the number of spans read.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self.faults: Counter[str] = Counter()
        self.spans = 0
        self._database = database
        self._telling: set[str] = set()  # names of retrievers that have a span with documents
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(
            "CREATE TABLE span (trace TEXT, id TEXT, content TEXT, PRIMARY KEY (trace, id))"
            " WITHOUT ROWID"
        )

    def add(self, source: str) -> None:
        """Add the spans of a source. Raises AssayError."""
        for span in read_spans(source, self.faults):
            if span.kind == RETRIEVER and span.found and len(self._telling) < MOST_NAMES:
                self._telling.add(span.name)
            row = (span.trace, span.id, json.dumps(span))
            new = self._database.execute(
                "INSERT OR IGNORE INTO span VALUES (?, ?, ?)", row
            ).rowcount
            self.spans += new
            if not new:
                self.faults["span with an id that came before"] += 1

    def traces(self) -> Iterator[Trace]:
        """Yield the searches, in the order of their ids."""
        rows = self._database.execute("SELECT trace, content FROM span ORDER BY trace, id")
        for _, group in groupby(rows, key=lambda row: str(row[0])):
            spans, size = [], 0
            for _, content in group:
                size += len(content)
                if size > LINE:
                    self.faults["trace of more than 64 MB"] += 1
                    break
                spans.append(self._decode(content))
            else:
                yield from read_traces(spans, self.faults)

    def _decode(self, content: str) -> Span:
        span = Span._make(json.loads(content))
        found, given = (
            each and [RecordedDocument._make((*i[:3], tuple(i[3]), i[4])) for i in each]
            for each in (span.found, span.given)
        )
        if found is None and span.kind == RETRIEVER and not span.failed:
            # OpenInference's instrumentors omit the attribute if there are no documents.
            found = [] if span.name in self._telling else None
        return span._replace(found=found, given=given)


@contextmanager
def open_book(sources: Iterable[str]) -> Iterator[TraceBook]:
    """Yield a book of the spans of `sources`: see `read_spans`.

    Raises AssayError if the disk is full.
    """
    try:
        with closing(sqlite3.connect("")) as database:  # "": an unnamed temporary file of SQLite
            book = TraceBook(database)
            for source in sources:
                book.add(source)
            yield book
    except sqlite3.OperationalError as error:
        raise AssayError(
            f"temporary file of spans: {error}; TMPDIR names a folder with more space"
        ) from None


def read_traces(spans: Sequence[Span], faults: Counter[str]) -> Iterator[Trace]:
    """Yield the searches among the spans of one trace.

    A search has the spans below a root, or below a call of a tool that retrieves. A span whose
    parent is missing is a root.
    """
    known = {span.id for span in spans}
    children: dict[str, list[Span]] = {}
    roots = []
    for span in sorted(spans, key=lambda span: (span.begin, span.id)):
        if span.parent in known and span.parent != span.id:
            children.setdefault(span.parent, []).append(span)
        else:
            roots.append(span)
    seen = 0
    searches: list[tuple[Span, list[Span]]] = []
    for root in roots:
        queue = [(root, -1)]
        while queue:
            span, owner = queue.pop()
            seen += 1
            if owner < 0 or span.kind == TOOL:
                searches.append((span, []))
                owner = len(searches) - 1
            searches[owner][1].append(span)
            below = children.get(span.id, ())
            queue += [(child, owner) for child in below]
            if span.end < span.begin or any(child.begin < span.begin for child in below):
                faults["span whose clock is not that of its parent (kept)"] += 1
    if seen < len(spans):
        faults["span that is its own ancestor"] += len(spans) - seen
    silent = sum(span.kind == RETRIEVER and span.found is None for span in spans)
    if silent:
        faults["retriever span that tells no documents"] += silent
    made = []
    for root, within in searches:
        inside = {span.id for span in within}
        searched = any(span.found is not None for span in within)
        if len(within) > MOST_SPANS:
            faults[f"search of more than {MOST_SPANS:,} spans"] += 1
        elif _indexes(within):
            faults["trace that embeds texts and retrieves nothing: not a search"] += 1
        elif searched and (trace := _read_trace(root, inside, children, faults)):
            made.append(trace)
    for number, trace in enumerate(made):
        yield replace(trace, id=f"{trace.id}-{number + 1}") if number else trace


def _indexes(spans: Sequence[Span]) -> bool:
    """Return True if spans embed texts for an index, and none retrieves or lists other texts.

    A span without a kind counts as retrieving, unless its list is embedded and its query is not.
    """
    embeddings = [span for span in spans if span.kind == EMBEDDING]
    if not embeddings or any(span.kind in (RETRIEVER, RERANKER) or span.step for span in spans):
        return False
    texts = {item.name for span in embeddings for item in span.given or ()}
    lists = [span.found for span in spans if span.found]
    if not lists or any(span.query in texts for span in spans if span.kind != EMBEDDING):
        return not lists
    # Frameworks put metadata before a text that they embed.
    return any(found[0].content in text for found in lists if found[0].content for text in texts)


def _read_trace(
    root: Span, inside: set[str], children: dict[str, list[Span]], faults: Counter[str]
) -> Trace | None:
    steps: list[TracedStep] = []
    spans = _walk(root, inside, children, steps)
    asked = next((span.query for span in (root, *spans) if span.query), "")
    if not asked:
        faults["search without a query"] += 1
        return None
    if repeats := sum(span.repeats for span in spans):
        faults[REPEATED] += repeats
    return Trace(
        root.trace,
        asked,
        root.begin,
        _milliseconds(root),
        next((span.session for span in (root, *spans) if span.session), ""),
        root.answer,
        tuple(_close(steps)),
    )


def _walk(
    root: Span, inside: set[str], children: dict[str, list[Span]], steps: list[TracedStep]
) -> list[Span]:
    """Add the steps of `root` and below it to `steps`, children first; return their spans."""
    order: list[Span] = []
    stack: list[tuple[Span, int | None]] = [(root, None)]
    while stack:
        span, before = stack.pop()
        if before is None:
            stack.append((span, len(steps)))
            below = [child for child in children.get(span.id, ()) if child.id in inside]
            stack += [(child, None) for child in reversed(below)]
            continue
        order.append(span)
        steps += _read_steps(span, steps, before)
    return order


def _read_steps(span: Span, steps: Sequence[TracedStep], before: int) -> Iterator[TracedStep]:
    """Yield the step of a span; `steps` are the earlier ones, from `before` on those within it."""
    taken = _milliseconds(span)
    if span.step in KINDS:
        yield TracedStep(span.name, span.step, taken, span.found)
        return
    if span.found is None:
        return
    earlier = [step for step in steps if step.documents is not None]
    within = [step for step in steps[before:] if step.documents is not None]
    if within and _are_same(within[-1].documents or (), span.found):
        return  # it passes on the result of its last step
    if span.kind == RERANKER:
        if not earlier and span.given:
            yield TracedStep(f"given to {span.name}", LEG, 0.0, span.given, inferred=True)
        yield TracedStep(span.name, STAGE, taken, span.found)
    elif span.kind == RETRIEVER and not within and not _fuses(span.name, earlier):
        yield TracedStep(span.name, LEG, taken, span.found)
    elif _fuses(span.name, earlier) or sum(step.kind == LEG for step in within) > 1:
        yield TracedStep(span.name, FUSION, taken, span.found, inferred=True)
    else:
        kind = STAGE if earlier else LEG
        yield TracedStep(span.name, kind, taken, span.found, inferred=True)


def _fuses(name: str, earlier: Sequence[TracedStep]) -> bool:
    legs = sum(step.kind == LEG for step in earlier)
    return legs > 1 and bool(FUSES.search(name)) and all(i.kind != FUSION for i in earlier)


def _close(steps: Sequence[TracedStep]) -> list[TracedStep]:
    """Return the steps, with a fusion added if several legs have lists and no other step has."""
    lists = [step for step in steps if step.documents is not None]
    if len(lists) < 2 or any(step.kind != LEG for step in lists):
        return list(steps)
    merged = unique(document for step in lists for document in step.documents or ())
    return [*steps, TracedStep("all lists", FUSION, 0.0, merged, inferred=True)]


def _are_same(some: Sequence[RecordedDocument], others: Sequence[RecordedDocument]) -> bool:
    """Return True if lists name the same documents, compared by text if ids repeat."""
    distinct = len({item.id for item in some}) == len(some)

    def match(one: RecordedDocument, other: RecordedDocument) -> bool:
        texts = {one.content, other.content}
        if one.id and other.id:
            return one.id == other.id and (distinct or "" in texts or len(texts) == 1)
        return len(texts) == 1 and one.content != ""

    return len(some) == len(others) and all(map(match, some, others))


def _milliseconds(span: Span) -> float:
    return max(0, span.end - span.begin) / MILLION
