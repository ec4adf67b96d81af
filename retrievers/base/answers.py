"""Answers from elsewhere: the chunks that they name, in the order in which they name them.

The order of a list is the ranking, whatever its scores are (docs/measures.md).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from inspect import isawaitable, iscoroutine
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any

from assay.retrievers.base import AssayError, Chunk, Document, Hit
from assay.retrievers.base.quotes import Locator
from assay.retrievers.base.quotes import QuoteSpan as Span

# The id of a passage or document, characters `start` to `end` of a document, or a text in one.
Place = str | tuple[str, int, int] | tuple[str, str]
IDS = ("doc_id", "id", "_id", "docno", "docid")
ALLOWED = (
    "allowed: (id, score), (document id, start, end, score), "
    '{"doc_id": …, "start": …, "end": …, "score": …}, {"document": …, "text": …, "score": …}, '
    "or any of them without the score; best first"
)
OFFSETS = " (`add_start_index=True` of LangChain's text splitters writes it)"


class NamedChunks:
    """The chunks of some documents that an answer from elsewhere can name."""

    def __init__(self, documents: Iterable[Document], cut: Iterable[Chunk] = ()) -> None:
        """Take `documents`, their prescribed passages, and the chunks they were `cut` into."""
        self._documents = {item.id: item for item in documents}
        self._locator = Locator(self._documents)
        self._chunks = {
            item.id: Chunk(item.id, item.id, 0, len(item.text), item.text, item.title)
            for item in self._documents.values()
        }
        for item in self._documents.values():
            for i in item.passages:
                text = item.text[i.start : i.end]
                self._chunks[i.id] = Chunk(i.id, item.id, i.start, i.end, text, i.title)
        self._chunks |= {chunk.id: chunk for chunk in cut}
        self._by_span = {
            (chunk.doc_id, chunk.start, chunk.end): chunk for chunk in self._chunks.values()
        }
        for chunk in reversed(
            self._chunks.values()
        ):  # a text that is located has no blanks at its ends
            start = chunk.start + len(chunk.text) - len(chunk.text.lstrip())
            end = chunk.end - len(chunk.text) + len(chunk.text.rstrip())
            self._by_span.setdefault((chunk.doc_id, start, end), chunk)
        self._located: dict[tuple[str, tuple[str, ...], int | None], Chunk] = {}

    def find(self, place: Place) -> Chunk:
        """Return the chunk of a place; if ids or spans are equal, the prescribed passage.

        A text is found in its document as quotes are: see `assay.retrievers.base.quotes`. Raises
        AssayError, without naming the source of the answer, if there is no such place, or several.
        """
        if isinstance(place, str):
            if place not in self._chunks:
                what = "is neither a passage nor a document of the collection"
                raise AssayError(f"{place} {what}{self._offer(place)}")
            return self._chunks[place]
        if place[0] not in self._documents:
            raise AssayError(
                f"{place[0]} is not a document of the collection{self._offer(place[0])}"
            )
        name, start, end = self._locate(*place) if len(place) == 2 else place
        if (name, start, end) in self._by_span:
            return self._by_span[name, start, end]
        text = self._documents[name].text
        if not 0 <= start < end <= len(text):
            raise AssayError(
                f"span {start} to {end} is not within {name}; "
                f"allowed: 0 <= start < end <= {len(text)}"
            )
        return Chunk(f"{name}[{start}:{end}]", name, start, end, text[start:end])

    def rank(self, answer: Any, k: int) -> tuple[Hit, ...]:
        """Return the first `k` chunks that an answer names, each once. Raises AssayError."""
        return rank_chunks(((self.find(place), score) for place, score in read_answer(answer)), k)

    def find_text(self, text: str, names: Sequence[str] = (), near: int | None = None) -> Chunk:
        """Return the chunk of a text whose document may be known by one of `names`.

        A name is an id, a title or a path, from the root or not; names of no document are ignored,
        and a text that is not in the named documents is looked for in all. If one document has it
        in several places, the one at the offset `near` is taken, else the nearest; a negative
        offset counts as none. Raises AssayError if the text is nowhere, or in several places that
        nothing distinguishes.
        """
        # Stores give numbers back as floats; LangChain writes -1 where it did not find the offset.
        offset = None if near is None or near < 0 else int(near)
        key = (text, tuple(names), offset)
        if key not in self._located:
            self._located[key] = self._find_text(*key)
        return self._located[key]

    def _find_text(self, text: str, names: Sequence[str], near: int | None) -> Chunk:
        named = (self.find_documents(name) for name in names)
        within = next((ids for ids in named if len(ids) == 1), [])
        places = self._locator.find(text, within) or self._locator.find(text)
        if near is not None and len({place.doc_id for place in places}) == 1:
            i = self._find_at(near, text, places[0].doc_id)
            places = [i or min(places, key=lambda place: abs(place.start - near))]
        if len(places) != 1:
            times = f"stands {len(places)} times in" if places else "is not part of"
            raise AssayError(
                f"the text {text!r:.60} {times} the documents"
                + (
                    f"; its metadata must tell the document and the offset{OFFSETS}"
                    if places
                    else ""
                )
            )
        return self.find((places[0].doc_id, places[0].start, places[0].end))

    def _find_at(self, offset: int, text: str, name: str) -> Span | None:
        """Return the span of `text`, stripped of whitespace, if it is exactly at `offset`."""
        wanted = text.strip()
        blanks = text.find(wanted)  # the offset may be that of the text with those before it
        for start in (offset + blanks, offset):
            if self._documents[name].text.startswith(wanted, start):
                return Span(name, start, start + len(wanted))
        return None

    def find_documents(self, name: str) -> Sequence[str]:
        """Return the ids that `name`, an id, a title or a path, may mean.

        A path from the root may mean the id that it ends with.
        """
        if found := self._locator.find_documents(name):
            return found
        end = self._locator.find_end(name)
        return [end] if end else []

    def _offer(self, name: str) -> str:
        """Return the document that `name` may mean, or else an existing one, as a suggestion."""
        meant = self.find_documents(name)
        if len(meant) == 1:
            return f"; did you mean {meant[0]}?"
        return f"; one there is {next(iter(self._documents), 'none')}"

    def _locate(self, name: str, text: str) -> tuple[str, int, int]:
        found = self._locator.find(text, [name])
        if len(found) != 1:
            times = f"stands {len(found)} times" if found else "does not stand"
            raise AssayError(f"the text {text!r:.60} {times} in {name}; give start and end")
        return name, found[0].start, found[0].end

    def list(self) -> Sequence[Chunk]:
        """Return the documents and passages."""
        return list(self._chunks.values())


def read_answer(answer: Any) -> list[tuple[Place, float]]:
    """Return the places that an answer names, each once, best first, with their scores.

    An answer is hits as `ALLOWED` says, in the order that counts: the first of the same places
    stands, and scores sort nothing. A mapping of ids to scores has no order but that of its scores;
    equal ones keep their order. Raises AssayError.
    """
    if isinstance(answer, Mapping):
        scored = ((id_, _as_score(id_, score)) for id_, score in answer.items())
        answer = sorted(scored, key=itemgetter(1), reverse=True)
    if hasattr(answer, "to_dict") and hasattr(answer, "columns"):  # a DataFrame: a row a hit
        answer = answer.to_dict("records")
    if isawaitable(answer) or hasattr(answer, "__aiter__"):
        if iscoroutine(answer):
            answer.close()
        raise AssayError(
            "it is asynchronous, and nothing waits for its answer; give a function that does: "
            "lambda query, k: asyncio.run(search(query, k))"
        )
    if isinstance(answer, set | frozenset):
        raise AssayError(f"a set has no order, so that it is no ranking; give a list; {ALLOWED}")
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise AssayError(f"{answer!r:.60} is no list of hits; {ALLOWED}")
    hits = list(map(_read_hit, answer))
    scores = complete([score for _, score in hits])
    found: dict[Place, float] = {}
    for (place, _), score in zip(hits, scores, strict=True):
        found.setdefault(place, score)
    return list(found.items())


def rank_chunks(found: Iterable[tuple[Chunk, float]], k: int) -> tuple[Hit, ...]:
    """Return the first `k` chunks in their order, each at its first place."""
    hits: dict[str, Hit] = {}
    fresh = (pair for pair in found if pair[0].id not in hits)
    for chunk, score in islice(fresh, k):
        hits[chunk.id] = Hit(chunk, score)
    return tuple(hits.values())


def complete(scores: Sequence[float | None]) -> list[float]:
    """Return the scores of a ranking; if one is missing, 1 / rank for all."""
    known = [score for score in scores if score is not None]
    return known if len(known) == len(scores) else [1 / i for i in range(1, len(scores) + 1)]


def rises(scores: Sequence[float]) -> bool:
    """Return True if scores contradict their order: one is higher than the one before it."""
    return any(later > earlier for earlier, later in pairwise(scores))


def describe_rising(queries: int, of: int, first: str) -> str:
    """Report the number of queries whose scores contradict the order of hits, and its meaning."""
    return (
        f"in {queries:,} of {of:,} queries (first: {first}) a hit has a higher score than the one "
        "before it. The order returned is judged, not the scores: if higher scores are better, "
        "sort the hits by them; if lower ones are (distances), this is as it should be"
    )


def _read_hit(hit: Any) -> tuple[Place, float | None]:
    if hasattr(hit, "_asdict"):
        hit = hit._asdict()
    if isinstance(hit, str):
        return hit, None
    if isinstance(hit, Mapping):
        hit = (*_read_place(hit), hit.get("score"))
    if not isinstance(hit, Sequence) or len(hit) not in (2, 3, 4):
        raise AssayError(f"{hit!r} is no hit; {ALLOWED}")
    name, *offsets, score = (_as_plain(value) for value in hit)
    name = str(name) if type(name) is int else name
    kind = str if len(offsets) == 1 else int
    if not isinstance(name, str) or not all(type(offset) is kind for offset in offsets):
        raise AssayError(f"{tuple(hit)!r} is no hit; {ALLOWED}")
    return (name, *offsets) if offsets else name, None if score is None else _as_score(name, score)


def _as_score(name: Any, score: Any) -> float:
    score = _as_plain(score)
    if type(score) not in (int, float) or not math.isfinite(score):
        raise AssayError(f"{name}: the score {score!r} is not a finite number")
    return float(score)


def _read_place(hit: Mapping[Any, Any]) -> Sequence[Any]:
    """Return an id, or a document with the span or else the text, from a mapping."""
    if {"start", "end"} <= hit.keys():
        part = [hit["start"], hit["end"]]
    else:
        part = [hit["text"]] if {"document", "text"} <= hit.keys() else []
    # If a document is given with a span or a text, an id is the system's own.
    keys = ("document", *IDS) if part else (*IDS, "document")
    return (next((hit[key] for key in keys if key in hit), None), *part)


def _as_plain(value: Any) -> Any:
    """Return a numpy number as a Python number."""
    is_numpy = type(value).__module__.partition(".")[0] == "numpy"
    return value.item() if is_numpy and hasattr(value, "item") else value
