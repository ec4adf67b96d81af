"""Rankings made elsewhere, judged as if they were searched here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from assay.eval.collections.collection import Collection
from assay.eval.collections.formats.rows import describe_unknown
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.run_files import RecordedStep, RunFile
from assay.retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    MetadataFilter,
    Ranking,
    Retriever,
    StageTrace,
    cut,
)
from assay.retrievers.base.answers import NamedChunks, Place

_Answer = tuple[Sequence[Place], Sequence[RecordedStep]]
_Step = tuple[RecordedStep, Sequence[Chunk]]
MOST = 1000  # characters of a message: an id in it may be of any length
# What becomes of queries of the collection that have no ranking.
FAIL, ZERO, DROP = "fail", "zero", "drop"
CHOICES = (
    f"allowed with --missing {ZERO}, by which they score 0, or --missing {DROP}, by which they are "
    "left out"
)


class Replay(Retriever):
    """A retriever that answers each query with the ranking that a system gave it elsewhere.

    A ranking may name passages that the collection prescribes, or whole documents. Queries
    without a ranking find nothing. Steps in the file become the trace.
    """

    def __init__(self, file: RunFile, system: str, collection: Collection) -> None:
        """Raise AssayError if the file names what the collection lacks, or misses its queries.

        It is also raised if two queries of the same text have different rankings.
        """
        self._file = file
        self._chunks = NamedChunks(collection.documents)
        rankings = file.systems[system]
        if not any(query.id in rankings for query in collection.queries):
            known_queries = {query.id: query for query in collection.queries}
            unknown = describe_unknown("query", next(iter(rankings)), known_queries)
            raise AssayError(
                f"{file.path}: none of its queries is one of {collection.name}: "
                f"{cut(unknown, MOST)}"
            )
        self._answers: dict[str, _Answer] = {}
        self._find = cache(self._chunks.find)
        steps = file.steps.get(system, {})
        known: set[Place] = set()
        for query in collection.queries:
            answer = rankings.get(query.id, ()), tuple(steps.get(query.id, ()))
            for places in (answer[0], *(step.places for step in answer[1])):
                if known.issuperset(places):
                    continue
                try:
                    known.update(place for place in places if self._find(place))
                except AssayError as error:
                    raise AssayError(
                        f"{file.path}: query {query.id}: {cut(str(error), MOST)}"
                    ) from None
            other = self._answers.setdefault(query.text, answer)
            if other != answer and self._resolve(other) != self._resolve(answer):
                raise AssayError(
                    f"{file.path}: query {query.id}: another query has the same text and "
                    "another ranking; one of them must go"
                )

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Do nothing: the rankings are there."""
        return IndexReport(len(self._chunks.list()))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` of the ranking, with 1 / rank for scores."""
        found, steps = self._resolve(self._answers.get(query, ((), ())), k)
        hits = tuple(Hit(chunk, score) for chunk, score in _score(found))
        trace = tuple(
            StageTrace(
                step.name,
                step.kind,
                step.milliseconds,
                tuple((chunk.id, score) for chunk, score in _score(listed)),
            )
            for step, listed in steps
        )
        returned = {hit.chunk.id for hit in hits}
        named = {chunk.id: chunk for _, listed in steps for chunk in listed}
        others = tuple(chunk for id_, chunk in named.items() if id_ not in returned)
        return Ranking(hits, trace, others)

    def restrict(self, allowed: MetadataFilter) -> "Replay":
        """Return itself: the system that made the rankings had to apply the filter."""
        return self

    def list_chunks(self) -> Sequence[Chunk]:
        """Return the chunks that the rankings may name."""
        return self._chunks.list()

    def metadata(self) -> Mapping[str, Any]:
        """Return the digest of the file."""
        return {"run_file": self._file.digest}

    def _resolve(self, answer: _Answer, k: int | None = None) -> tuple[list[Chunk], list[_Step]]:
        """Return the chunks of an answer, the first `k` of its ranking, and those of its steps."""
        return self._list(answer[0], k), [(step, self._list(step.places)) for step in answer[1]]

    def _list(self, places: Sequence[Place], k: int | None = None) -> list[Chunk]:
        # A place may be named twice: by an id, by a span, by its text.
        found: dict[str, Chunk] = {}
        for place in places:
            if len(found) == k:
                break
            chunk = self._find(place)
            found.setdefault(chunk.id, chunk)
        return list(found.values())


def _score(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, float]]:
    """Yield each chunk with 1 / rank."""
    return ((chunk, 1 / rank) for rank, chunk in enumerate(chunks, start=1))


def cover(
    file: RunFile,
    system: str,
    collection: Collection,
    missing: str,
    choices: str = CHOICES,
    limit: int | None = None,
) -> tuple[Collection, list[str]]:
    """Return the part of `collection` that a system is judged on, and notes on mismatches.

    Queries without a ranking are refused (`fail`), score 0 (`zero`) or are left out (`drop`).
    Raises AssayError, which names the `choices`. With a `limit` only the queries that are searched
    must have one.
    """
    rankings = file.systems[system]
    begin = ": ".join(dict.fromkeys([str(file.path), system]))
    known = {query.id: query for query in collection.queries}
    kept = tuple(query for query in collection.queries if query.id in rankings)
    searched = sample(collection.queries, limit)
    lacking = [query.id for query in searched if query.id not in rankings]
    notes = []
    unknown = [id_ for id_ in rankings if id_ not in known]
    reason = cut(describe_unknown("query", unknown[0], known), MOST) if unknown else ""
    if unknown:
        notes.append(
            f"{len(unknown)} of its {len(rankings)} queries are not judged in {collection.name} "
            f"and are passed over: {reason}"
        )
    if lacking and kept:
        what = f"{len(lacking)} of the {len(searched)} queries of {collection.name} have no ranking"
        if missing == FAIL:
            raise AssayError(
                f"{begin}: {what}, the first {lacking[0]}"
                + (f" ({reason})" if reason else "")
                + f"; {choices}"
            )
        notes.append(f"{what} and {'score 0' if missing == ZERO else 'are left out'}")
        if missing == DROP:
            gold = {query.id: collection.gold[query.id] for query in kept}
            collection = replace(collection, queries=kept, gold=gold)
    return collection, [f"{begin}: {note}" for note in notes]


def describe_cut(file: RunFile, system: str, depth: int) -> list[str]:
    """Return a line on the rankings of a system of which only the first `depth` hits are judged."""
    rankings = file.systems[system].values()
    deeper = sum(len(ranking) > depth for ranking in rankings)
    if not deeper:
        return []
    return [
        f"{file.path}: {system}: {deeper} of its {len(rankings)} rankings are cut to their first "
        f"{depth} hits, of up to {max(map(len, rankings))}"
    ]
