"""Answers from elsewhere: ids and spans with scores, and the chunks of a collection they name."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retrievers.base import AssayError, Chunk, Document

if TYPE_CHECKING:
    from pandas import DataFrame

# The id of a passage or document, or characters `start` to `end` of a document.
Place = str | tuple[str, int, int]
QUERY_IDS = ("query_id", "qid")
IDS = ("doc_id", "id", "_id", "docno", "docid")
ALLOWED = (
    "allowed: (id, score), (document id, start, end, score), "
    '{"doc_id": …, "start": …, "end": …, "score": …}, or ids alone, best first'
)


class NamedChunks:
    """The chunks that an answer from elsewhere can name, of documents that it may know."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = {item.id: item for item in documents}
        self._chunks = {
            item.id: Chunk(item.id, item.id, 0, len(item.text), item.text, item.title)
            for item in self._documents.values()
        }
        for item in self._documents.values():
            for at in item.passages:
                text = item.text[at.start : at.end]
                self._chunks[at.id] = Chunk(at.id, item.id, at.start, at.end, text, at.title)
        self._by_span = {
            (chunk.doc_id, chunk.start, chunk.end): chunk for chunk in self._chunks.values()
        }

    def find(self, place: Place) -> Chunk:
        """Return the chunk of a place; where ids or spans are equal, the prescribed passage.

        Raises AssayError, without saying whose answer it was, where there is no such place.
        """
        if isinstance(place, str):
            if place not in self._chunks:
                raise AssayError(f"{place} is neither a passage nor a document of the collection")
            return self._chunks[place]
        if place in self._by_span:
            return self._by_span[place]
        name, start, end = place
        if name not in self._documents:
            raise AssayError(f"{name} is not a document of the collection")
        text = self._documents[name].text
        if not 0 <= start < end <= len(text):
            raise AssayError(
                f"span {start} to {end} is not within {name}; "
                f"allowed: 0 <= start < end <= {len(text)}"
            )
        return Chunk(f"{name}[{start}:{end}]", name, start, end, text[start:end])

    def list(self) -> Sequence[Chunk]:
        """Return the documents and passages."""
        return list(self._chunks.values())


def read_answer(answer: Any) -> list[tuple[Place, float]]:
    """Return the places that an answer names, each once, with their scores, best first.

    An answer is a mapping of ids to scores, or hits as `ALLOWED` says. Equal scores stand by
    descending id, as trec_eval has them; without scores a place has that of its rank, 1 / rank.
    Raises AssayError.
    """
    hits = list(answer.items()) if isinstance(answer, Mapping) else answer
    if isinstance(hits, str) or not isinstance(hits, Iterable):
        raise AssayError(f"{answer!r:.60} is no list of hits; {ALLOWED}")
    best: dict[Place, float] = {}
    for rank, hit in enumerate(hits, start=1):
        place, score = _read_hit(hit, rank)
        best[place] = max(score, best.get(place, -math.inf))
    order = [
        (score, place if isinstance(place, str) else "{}[{}:{}]".format(*place), place)
        for place, score in best.items()
    ]
    order.sort(key=lambda entry: entry[:2], reverse=True)
    return [(place, score) for score, _, place in order]


def list_answers(frame: "DataFrame") -> dict[str, list[dict[str, Any]]]:
    """Return the hits of each query of a DataFrame, as `read_answer` takes them.

    It has the columns of ir_measures or PyTerrier: query_id or qid; doc_id or docno; score, or
    else rank; and, if you like, start and end. Raises AssayError where one is missing.
    """
    columns = list(frame.columns)
    query = next((name for name in QUERY_IDS if name in columns), None)
    if query is None or not set(IDS) & set(columns) or not {"score", "rank"} & set(columns):
        raise AssayError(
            f"rankings: a DataFrame needs the columns {' or '.join(QUERY_IDS)}, "
            f"{' or '.join(IDS)}, score or rank; there are: {', '.join(map(str, columns))}"
        )
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        hit = {name: value for name, value in row.items() if name in (*IDS, "score")}
        if "score" not in row:
            hit["score"] = -row["rank"]
        if "start" in row and row["start"] == row["start"]:  # NaN marks a whole document
            hit |= {"start": int(row["start"]), "end": int(row["end"])}
        answers.setdefault(str(row[query]), []).append(hit)
    return answers


def _read_hit(hit: Any, rank: int) -> tuple[Place, float]:
    if hasattr(hit, "_asdict"):
        hit = hit._asdict()
    if isinstance(hit, str):
        return hit, 1 / rank
    if isinstance(hit, Mapping):
        name = next((hit[key] for key in IDS if key in hit), None)
        span = [hit["start"], hit["end"]] if {"start", "end"} <= hit.keys() else []
        hit = (name, *span, hit.get("score", 1 / rank))
    if not isinstance(hit, Sequence) or len(hit) not in (2, 4):
        raise AssayError(f"{hit!r} is no hit; {ALLOWED}")
    name, *offsets, score = (_as_plain(value) for value in hit)
    name = str(name) if type(name) is int else name
    if not isinstance(name, str) or not all(type(offset) is int for offset in offsets):
        raise AssayError(f"{tuple(hit)!r} is no hit; {ALLOWED}")
    if type(score) not in (int, float) or not math.isfinite(score):
        raise AssayError(f"{name}: the score {score!r} is not a finite number")
    return (name, *offsets) if offsets else name, float(score)


def _as_plain(value: Any) -> Any:
    """Return a number of numpy as Python's."""
    is_numpy = type(value).__module__.partition(".")[0] == "numpy"
    return value.item() if is_numpy and hasattr(value, "item") else value
