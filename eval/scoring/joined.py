"""All rankings of a run with their judgments joined; most hits are stored as numbers only."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.calculation import count_tokens
from assay.eval.scoring.join import JoinedHit, RetrievedChunk, join
from assay.retrievers.base import Chunk


class NumberLists(Sequence["array[int]"]):
    """Lists of numbers, one after the other in one array; list i ends at `ends[i + 1]`."""

    def __init__(self) -> None:
        self.numbers = array("i")
        self.ends = array("q", [0])

    def add(self, numbers: Iterable[int]) -> None:
        """Append a list."""
        self.numbers.extend(numbers)
        self.ends.append(len(self.numbers))

    def __getitem__(self, i: int) -> "array[int]":  # type: ignore[override]
        return self.numbers[self.ends[i] : self.ends[i + 1]]

    def __len__(self) -> int:
        return len(self.ends) - 1


class Place(NamedTuple):
    """A hit whose chunk is judged or needs an alias: its query's row and its column, from 0."""

    row: int
    column: int
    hit: JoinedHit


class JoinedRankings(Mapping[str, list[JoinedHit]]):
    """The results of `assay.eval.scoring.join.join` for every query, computed on access.

    `lists` holds the numbers of the chunks of each query of `gold`, and `chunks` are by number;
    those whose ids are `prescribed` are passages of the collection, and those of the documents
    `unwanted` must not be returned. `places` are the hits that are
    not simply unjudged, query by query, `numbers` and `ends` those of `lists`.
    """

    def __init__(
        self,
        lists: NumberLists,
        chunks: Sequence[Chunk],
        prescribed: Set[str],
        gold: Mapping[str, Sequence[GoldItem]],
        by_document: Mapping[str, Set[int]],
        unwanted: Set[str] = frozenset(),
    ) -> None:
        self.numbers: NDArray[np.int32] = np.frombuffer(lists.numbers, np.int32)
        self.ends: NDArray[np.int64] = np.frombuffer(lists.ends, np.int64)
        self._rows = {query: row for row, query in enumerate(gold)}
        self._lists = lists
        self._chunks = chunks
        self._unwanted = unwanted
        self._unjudged: dict[int, JoinedHit] = {}
        relevant = {item.id for items in gold.values() for item in items if item.grade > 0}
        named = {chunk.id: number for number, chunk in enumerate(chunks) if chunk.id in relevant}
        self.places: list[Place] = []
        self._begins = array("q", [0])  # of the places of each row
        for row, items in enumerate(gold.values()):
            numbers = lists[row]
            listed = set(numbers)
            near = {named[item.id] for item in items if item.grade > 0 and item.id in named}
            for document in {item.doc_id for item in items}:
                near |= by_document.get(document, frozenset()) & listed
            if not near.isdisjoint(listed):
                columns = [column for column, number in enumerate(numbers) if number in near]
                retrieved = [
                    RetrievedChunk(chunk, chunk.id in prescribed, chunk.doc_id in unwanted)
                    for chunk in (chunks[numbers[column]] for column in columns)
                ]
                for column, hit in zip(columns, join(retrieved, items), strict=True):
                    if hit.judged or hit.alias:
                        self.places.append(Place(row, column, hit))
            self._begins.append(len(self.places))

    def __getitem__(self, query: str) -> list[JoinedHit]:
        """Return the hits of a query, best first. Raises KeyError where there is none."""
        hits = [self._find_unjudged(number) for number in self.list_numbers(query)]
        for _, column, hit in self.list_places(query):
            hits[column] = hit
        return hits

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def list_numbers(self, query: str) -> "array[int]":
        """Return the numbers of the chunks of a query, best first."""
        return self._lists[self._rows[query]]

    def list_places(self, query: str) -> list[Place]:
        """Return the places of a query, best first."""
        row = self._rows[query]
        return self.places[self._begins[row] : self._begins[row + 1]]

    @cached_property
    def condensed(self) -> Mapping[str, list[JoinedHit]]:
        """The rankings without the hits that no one has judged."""
        return {
            query: [place.hit for place in self.list_places(query) if place.hit.judged]
            for query in self
        }

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """The tokens of each chunk that is a hit, 0 of others, by number."""
        counts = np.zeros(len(self._chunks), np.int64)
        for number in np.unique(self.numbers).tolist():
            counts[number] = count_tokens(self._chunks[number])
        return counts

    def count_fitting(self, budget: int) -> NDArray[np.int64]:
        """Return the number of first hits of each query that together fit into `budget` tokens."""
        begins, totals = self.ends[:-1], self._totals
        ends = np.searchsorted(totals, totals[begins] + budget, side="right") - 1
        fitting: NDArray[np.int64] = np.minimum(ends - begins, np.diff(self.ends))
        return fitting

    def sum_tokens(self, limits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the total tokens of the first `limits` hits of each query."""
        begins = self.ends[:-1]
        sums: NDArray[np.int64] = self._totals[begins + limits] - self._totals[begins]
        return sums

    @cached_property
    def _totals(self) -> NDArray[np.int64]:
        """The tokens of all hits before each one, of all queries."""
        return np.concatenate([[0], np.cumsum(self.tokens[self.numbers])])

    def _find_unjudged(self, number: int) -> JoinedHit:
        if (hit := self._unjudged.get(number)) is None:
            chunk = self._chunks[number]
            hit = JoinedHit(chunk, (), False, unwanted=chunk.doc_id in self._unwanted)
            self._unjudged[number] = hit
        return hit


def group_judged(
    chunks: Sequence[Chunk], gold: Mapping[str, Sequence[GoldItem]]
) -> dict[str, frozenset[int]]:
    """Return the numbers of the chunks of each document that has a judgment."""
    documents = {item.doc_id for items in gold.values() for item in items}
    found: dict[str, list[int]] = {}
    for number, chunk in enumerate(chunks):
        if chunk.doc_id in documents:
            found.setdefault(chunk.doc_id, []).append(number)
    return {document: frozenset(numbers) for document, numbers in found.items()}
