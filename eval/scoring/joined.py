"""All rankings of a run with their judgments joined; most hits are stored as numbers only."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.calculation import count_tokens
from assay.eval.scoring.join import NOT_THE_ITEM, JoinedHit, count_hit
from assay.retrievers.base import Chunk

ROWS = 256  # queries whose hits are joined at once


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


ANY, NONE = -2, -1  # of an item: any chunk may cover it; its own passage is no chunk of the run

Integers = NDArray[np.int64]


class ChunkSpans:
    """The spans of a run's chunks by number, of those in a document that has a judgment.

    Chunks whose ids are `prescribed` are passages of the collection; `by_document` has the numbers
    of the chunks of each document, and `named` those of the chunks that items are called as.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        prescribed: Set[str],
        by_document: Mapping[str, Set[int]],
        named: Mapping[str, int],
    ) -> None:
        self._named = named
        self._codes = {document: code for code, document in enumerate(by_document)}
        self._documents = np.full(len(chunks), -1)
        self._spans = np.zeros((2, len(chunks)), np.int64)
        self._prescribed = np.zeros(len(chunks), bool)
        for document, numbers in by_document.items():
            for number in numbers:
                chunk = chunks[number]
                self._documents[number] = self._codes[document]
                self._spans[:, number] = chunk.start, chunk.end
                self._prescribed[number] = chunk.id in prescribed

    def find_covered(
        self,
        numbers: NDArray[np.int32],
        rows: Integers,
        items: Sequence[GoldItem],
        rows_of_items: Integers,
    ) -> tuple[Integers, Integers]:
        """Return the places of the hits and the items of all pairs, by hit and then by item.

        Hit i is the chunk `numbers[i]` for the query `rows[i]`; the items have rows, too.
        """
        documents = self._documents[numbers]
        near = np.flatnonzero(documents >= 0)
        codes = np.array([self._codes.get(item.doc_id, -1) for item in items], np.int64)
        judged = np.flatnonzero(codes >= 0)
        keys = rows_of_items[judged] * len(self._codes) + codes[judged]
        order = np.argsort(keys, kind="stable")
        wanted = rows[near] * len(self._codes) + documents[near]
        begins, ends = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
        counts = ends - begins
        hits = np.repeat(near, counts)
        first = np.cumsum(counts) - counts
        places = np.arange(len(hits)) + np.repeat(begins - first, counts)
        found = judged[order][places]
        covers = self._covers(numbers[hits], items, found)
        return hits[covers], found[covers]

    def _covers(
        self, numbers: NDArray[np.int32], items: Sequence[GoldItem], found: Integers
    ) -> NDArray[np.bool_]:
        """Return a mask of the pairs of chunk `numbers[i]` and item `items[found[i]]`."""
        spans = np.array([(item.start, item.end) for item in items], np.int64).reshape(-1, 2).T
        passages = np.array(
            [self._named.get(i.passage_id, NONE) if i.passage_id else ANY for i in items], np.int64
        )
        (start, end), (begin, stop) = self._spans[:, numbers], spans[:, found]
        shared = np.minimum(end, stop) - np.maximum(start, begin)
        covers = (shared > 0) & (2 * shared >= np.minimum(end - start, stop - begin))
        own = self._prescribed[numbers] & (passages[found] != ANY)
        touching = (begin <= end) & (start <= stop)
        found_itself = touching & (passages[found] == numbers)
        mask: NDArray[np.bool_] = np.where(own, found_itself, covers)
        return mask


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
        self.places: list[Place] = []
        self._begins = array("q", [0])  # of the places of each row
        judged = list(gold.values())
        names = {item.passage_id for items in judged for item in items}
        names |= {item.id for items in judged for item in items if item.grade > 0}
        named = {chunk.id: number for number, chunk in enumerate(chunks) if chunk.id in names}
        spans = ChunkSpans(chunks, prescribed, by_document, named)
        for row in range(0, len(judged), ROWS):
            self._add_places(row, judged[row : row + ROWS], spans, named)

    def _add_places(
        self,
        first: int,
        gold: Sequence[Sequence[GoldItem]],
        spans: ChunkSpans,
        named: Mapping[str, int],
    ) -> None:
        """Add the places of some queries, of which the first has the row `first`."""
        ends = self.ends[first : first + len(gold) + 1]
        numbers = self.numbers[ends[0] : ends[-1]]
        rows = np.repeat(np.arange(len(gold)), np.diff(ends))
        items = [item for of_query in gold for item in of_query]
        rows_of_items = np.repeat(np.arange(len(gold)), list(map(len, gold)))
        covered: dict[int, list[GoldItem]] = {}
        hits, found = spans.find_covered(numbers, rows, items, rows_of_items)
        for hit, i in zip(hits.tolist(), found.tolist(), strict=True):
            covered.setdefault(hit, []).append(items[i])
        called = [
            row * len(self._chunks) + named[item.id]
            for row, item in zip(rows_of_items.tolist(), items, strict=True)
            if item.grade > 0 and item.id in named
        ]
        aliased = np.isin(rows * len(self._chunks) + numbers, called).nonzero()[0].tolist()
        wanted = sorted(covered.keys() | aliased)
        counted: list[set[str]] = [set() for _ in gold]
        begins, of_hits = (ends - ends[0]).tolist(), rows[wanted].tolist()
        known = set(aliased)
        for hit, row in zip(wanted, of_hits, strict=True):
            chunk = self._chunks[numbers[hit]]
            alias = f"{chunk.id}{NOT_THE_ITEM}" if hit in known else ""
            joined = count_hit(
                chunk,
                covered.get(hit, ()),
                counted[row],
                alias,
                unwanted=chunk.doc_id in self._unwanted,
            )
            self.places.append(Place(first + row, hit - begins[row], joined))
        sizes = np.bincount(of_hits, minlength=len(gold)) if wanted else np.zeros(len(gold), int)
        self._begins.extend((self._begins[-1] + np.cumsum(sizes)).tolist())

    def __getitem__(self, query: str) -> list[JoinedHit]:
        """Return the hits of a query, best first. Raises KeyError where there is none."""
        return self.head(query)

    def head(self, query: str, count: int | None = None) -> list[JoinedHit]:
        """Return the first `count` hits of a query, or all. Raises KeyError where there is none."""
        hits = [self._find_unjudged(number) for number in self.list_numbers(query)[:count]]
        for _, column, hit in self.list_places(query):
            if column < len(hits):
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
