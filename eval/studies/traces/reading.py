"""Figures of traces, and their queries and rankings as files."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from assay.eval.collections.authoring.author import QUERIES
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.loading import load
from assay.eval.runs.json_form import by, in_json, length
from assay.eval.statistics.estimates import OpenEstimate, estimate_percentile
from assay.eval.studies.traces.matching import DocumentMatcher, render_run
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.spans import SECOND
from assay.eval.studies.traces.traces import Trace, TraceBook, open_book
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.files import open_atomically
from assay.retrievers.store.locks import changing

RUN = "run.jsonl"


def tell_time(nanoseconds: int) -> str:
    """Return a time in nanoseconds as ISO 8601, to the second."""
    return datetime.fromtimestamp(nanoseconds / SECOND, UTC).isoformat(timespec="seconds")


@in_json("name", "kind", "inferred", "searches", documents="mean", milliseconds="latency")
@dataclass(slots=True)
class StepFigures:
    """The figures of a step: the numbers of its searches and documents, and its times in ms."""

    name: str
    kind: str
    inferred: bool
    searches: int = 0
    documents: int = 0
    times: "array[float]" = field(default_factory=lambda: array("d"))

    def latency(self) -> Mapping[str, OpenEstimate]:
        """Return the percentiles of its milliseconds; {} if its spans have no length."""
        known = any(self.times)
        return {f"p{i}": estimate_percentile(self.times, i) for i in (50, 95)} if known else {}

    @property
    def mean(self) -> float:
        """The mean number of documents of a search."""
        return self.documents / self.searches


@in_json(
    "searches",
    "without_hits",
    with_answer="answered",
    sessions=length("sessions"),
    first=by(tell_time, "first"),
    last=by(tell_time, "last"),
    steps="in_order",
)
@dataclass(slots=True)
class TraceFigures:
    """The figures of the traces: searches, the times of the first and the last, and steps."""

    searches: int = 0
    without_hits: int = 0
    answered: int = 0
    sessions: set[str] = field(default_factory=set)
    first: int = 0
    last: int = 0
    steps: dict[str, StepFigures] = field(default_factory=dict)

    def add(self, trace: Trace) -> None:
        """Add a search to the figures."""
        self.searches += 1
        self.without_hits += not trace.found
        self.answered += bool(trace.answer)
        self.sessions |= {trace.session} - {""}
        self.first = min(self.first or trace.time, trace.time)
        self.last = max(self.last, trace.time)
        for step in trace.steps:
            known = self.steps.setdefault(
                step.name, StepFigures(step.name, step.kind, step.inferred)
            )
            known.searches += 1
            known.documents += len(step.documents or ())
            known.times.append(step.milliseconds)

    @property
    def in_order(self) -> list[StepFigures]:
        """The steps, in the order in which they were first seen."""
        return list(self.steps.values())


@in_json("spans", "faults", "notes", "files", spread=("figures",))
@dataclass(frozen=True)
class TraceReading:
    """The figures of traces, the skipped spans, and the files that were written."""

    spans: int
    figures: TraceFigures
    faults: Mapping[str, int]
    notes: Sequence[str]
    files: Sequence[Path]
    lacking: int = 0  # queries of the collection that nobody asked


def read(
    sources: Sequence[str],
    dataset: str | None,
    output: Path | None,
    consent: bool,
    name: str,
    progress: Progress,
) -> TraceReading:
    """Read `sources`, and write their rankings to `output`, a new folder.

    With a `dataset` only searches for its queries are written, the last for each query, with its
    documents in place of those named by spans. Otherwise each search is its own query, whose masked
    text is written if there is `consent`. Raises AssayError.
    """
    if output and output.exists():
        raise AssayError(f"{output}: is there already; say --output with another folder")
    names = (RUN, QUERIES) if consent and dataset is None else (RUN,)
    paths = [output / file for file in names] if output else []
    figures, lacking = TraceFigures(), 0
    with open_book(sources) as book, _open_together(paths) as files:
        if dataset is None:
            notes = _name_searches(book, figures, name, files)
        else:
            rows, notes, lacking = _match_searches(book, figures, dataset, name, progress)
            for file in files:
                file.write(render_rows(rows).encode())
        if not figures.searches:
            why = "".join(f"; {count:,} × {what}" for what, count in book.faults.most_common(1))
            raise AssayError(f"{sources[0]}: no span tells retrieved documents and a query{why}")
        return TraceReading(book.spans, figures, Counter(book.faults), notes, paths, lacking)


@contextmanager
def _open_together(paths: Sequence[Path]) -> Iterator[Sequence[BinaryIO]]:
    """Yield new files in one new folder; if the block fails, files and folder are removed."""
    with ExitStack() as stack:
        if paths:
            stack.enter_context(changing(paths[0].parent))
        try:
            with ExitStack() as files:
                yield [files.enter_context(open_atomically(path)) for path in paths]
        except BaseException:
            for folder in {path.parent for path in paths}:
                with suppress(OSError):
                    folder.rmdir()
            raise


def describe_missing(matcher: DocumentMatcher) -> list[str]:
    """Return a line on the recorded documents that are not in the collection, if any."""
    if not matcher.missing:
        return []
    some = ", ".join(repr(name[:40]) for name in matcher.some)
    return [
        f"{matcher.missing:,} of {matcher.matched + matcher.missing:,} recorded documents are not "
        f"in the collection ({some}): they are left out, and what stood below them moves up"
    ]


def _name_searches(
    book: TraceBook, figures: TraceFigures, name: str, files: Sequence[BinaryIO]
) -> list[str]:
    """Write the rows of all searches, by the ids of their traces, and queries to a second file.

    Rows are written one by one, because those of a million spans would fill the memory.
    """
    masker = Masker()

    def render(trace: Trace) -> Iterator[dict[str, Any]]:
        yield render_run(trace, trace.id, name, book.faults)
        about = {"time": tell_time(trace.time)}
        yield {"_id": trace.id, "text": masker.mask(trace.query), "metadata": about}

    for trace in _count(book, figures):
        for file, row in zip(files, render(trace), strict=False):  # no more rows than files
            file.write(render_rows([row]).encode())
    return masker.describe() if len(files) > 1 else []


def _match_searches(
    book: TraceBook, figures: TraceFigures, dataset: str, name: str, progress: Progress
) -> tuple[list[dict[str, Any]], list[str], int]:
    collection = load(dataset, progress)
    ids = {query.text.strip(): query.id for query in collection.queries}
    matcher = DocumentMatcher(collection.documents)
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    others = 0
    for trace in _count(book, figures):
        query = ids.get(trace.query)
        if query is None:
            others += 1
        elif query not in found or trace.time >= found[query][0]:
            found[query] = trace.time, render_run(trace, query, name, book.faults, matcher)
    if not found:
        raise AssayError(f"--dataset {dataset}: none of its queries is asked in the traces")
    notes = [f"{others:,} searches are not of queries of {dataset}"] if others else []
    rows = [found[query][1] for query in ids.values() if query in found]
    if lacking := len(collection.queries) - len(rows):
        notes.append(f"{lacking:,} of {len(collection.queries):,} queries are not in the traces")
    return rows, [*notes, *describe_missing(matcher)], lacking


def _count(book: TraceBook, figures: TraceFigures) -> Iterator[Trace]:
    for trace in book.traces():
        figures.add(trace)
        yield trace
