"""The joined rankings of a run in arrays, for computations on all queries at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.eval.scoring.calculation import Gold, Joined, count_fitting, count_tokens
from assay.eval.scoring.joined import JoinedRankings

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


class Levels(NamedTuple):
    """Items by the least grades that they have, a level for each grade that is given.

    `coming`, of shape (levels, queries, hits), counts those that count at each hit, and `relevant`,
    of shape (levels, queries), all there are. `steps`, of shape (levels,), say how far each grade
    is above the one before, the first above 0.
    """

    coming: Counts
    relevant: Counts
    steps: Counts

    def split(self, size: int) -> Iterator["Levels"]:
        """Yield these in parts of `size` queries."""
        for begin in range(0, self.relevant.shape[1], size):
            rows = slice(begin, begin + size)
            yield Levels(self.coming[:, rows], self.relevant[:, rows], self.steps)


@dataclass(frozen=True)
class Grid:
    """Joined rankings in arrays, a row a query in the order of `queries`, a column a hit.

    Shorter rankings end in columns where all is 0. `lengths` are those of the rankings. `judged`,
    of shape (queries, hits), is the mask of hits that cover a gold item. `found` are row, column
    and grade of each item that counts, and `gold` row and grade of each relevant one there is.
    `fitting` has the number of first hits of each query that fit into each requested budget of
    tokens.
    """

    queries: tuple[str, ...]
    joined: Joined
    lengths: Counts
    judged: Bools
    found: Counts
    gold: Counts
    fitting: dict[int, Counts] = field(default_factory=dict)

    @cached_property
    def unjudged(self) -> Bools:
        """The mask of hits that are not judged, of shape (queries, hits)."""
        return (np.arange(self.judged.shape[1]) < self.lengths[:, None]) & ~self.judged

    @cached_property
    def counts(self) -> Counts:
        """The number of items that count at each hit, of shape (queries, hits)."""
        return self._count_found(1)

    @cached_property
    def relevant(self) -> Counts:
        """The number of relevant items of each query."""
        return np.bincount(self.gold[0], minlength=len(self.queries))

    @cached_property
    def levels(self) -> Levels:
        """The items by grade."""
        rows, grades = self.gold
        given = np.unique(grades) if len(grades) else np.ones(1, dtype=np.int64)
        size = len(self.queries)
        relevant = [np.bincount(rows[grades >= grade], minlength=size) for grade in given]
        coming = [self._count_found(int(grade)) for grade in given]
        return Levels(np.array(coming), np.array(relevant), np.diff(given, prepend=0))

    @cached_property
    def places(self) -> Counts:
        """The grade at each place, of shape (queries, places).

        See `assay.eval.scoring.join.fill_places`, which gives places to the items themselves.
        """
        rows, columns, grades = self.found
        several = np.count_nonzero(self.counts, axis=1)
        width = self.judged.shape[1] + int(
            (np.bincount(rows, minlength=len(several)) - several).max(initial=0)
        )
        places = np.zeros((len(self.queries), width), dtype=np.int64)
        if width == self.judged.shape[1]:
            places[rows, columns] = grades
            return places
        before = 0
        for grade in np.unique(grades):
            places += fill(self._count_found(grade), width) * (grade - before)
            before = grade
        return places

    @cached_property
    def ideal(self) -> Counts:
        """The grades of the relevant items of each query, best first, of shape (queries, items)."""
        grades = self.gold[1, np.lexsort((-self.gold[1], self.gold[0]))]
        ordered = np.zeros((len(self.queries), self.relevant.max(initial=0)), dtype=np.int64)
        ordered[np.arange(ordered.shape[1]) < self.relevant[:, None]] = grades
        return ordered

    def limit(self, cutoff: int | None, budget: int | None = None) -> Counts:
        """Return the number of first hits of each query that lie within a cutoff or a budget."""
        if budget:
            if budget not in self.fitting:
                self.fitting[budget] = self._count_fitting(budget)
            return self.fitting[budget]
        return self.lengths if cutoff is None else np.minimum(self.lengths, cutoff)

    def sum_tokens(self, cutoff: int | None) -> Counts:
        """Return the tokens of the first hits of each query."""
        if isinstance(self.joined, JoinedRankings):
            return self.joined.sum_tokens(self.limit(cutoff))
        hits = (self.joined[query][:cutoff] for query in self.queries)
        return np.array([sum(count_tokens(hit.chunk) for hit in first) for first in hits], int)

    def mark(self, limits: Counts) -> Bools:
        """Return the mask of the first `limits` hits of each query, of shape (queries, hits)."""
        return np.arange(self.judged.shape[1]) < limits[:, None]

    def add_relevant(self, hits: Bools) -> "Grid":
        """Return this grid with one more relevant item at each of some unjudged `hits`."""
        rows, columns = np.nonzero(hits)
        ones = np.ones_like(rows)
        return replace(
            self,
            judged=self.judged | hits,
            found=np.hstack([self.found, [rows, columns, ones]]),
            gold=np.hstack([self.gold, [rows, ones]]),
        )

    def _count_fitting(self, budget: int) -> Counts:
        if isinstance(self.joined, JoinedRankings):
            return self.joined.count_fitting(budget)
        return np.array([count_fitting(self.joined[id_], budget) for id_ in self.queries], int)

    def _count_found(self, grade: int) -> Counts:
        """Return the number of items of at least this grade that count at each hit."""
        counts = np.zeros(self.judged.shape, dtype=np.int64)
        rows, columns, grades = self.found
        np.add.at(counts, (rows[grades >= grade], columns[grades >= grade]), 1)
        return counts


def lay_out(joined: Joined, gold: Gold) -> Grid:
    """Return the grid of the rankings of the queries of `gold`; those of a run in its order."""
    if isinstance(joined, JoinedRankings):
        gold = {query: gold[query] for query in joined}
        lengths = np.diff(joined.ends)
        judged = np.zeros((len(gold), lengths.max(initial=0)), dtype=bool)
        rows, columns, hits = zip(*joined.places, strict=True) if joined.places else ((), (), ())
        judged[rows, columns] = [hit.judged for hit in hits]
        found = [
            (row, column, item.grade) for row, column, hit in joined.places for item in hit.found
        ]
    else:
        rankings = [joined[query] for query in gold]
        lengths = np.array([len(hits) for hits in rankings], dtype=np.int64)
        judged = np.zeros((len(gold), lengths.max(initial=0)), dtype=bool)
        judged[np.arange(judged.shape[1]) < lengths[:, None]] = [
            hit.judged for hits in rankings for hit in hits
        ]
        found = [
            (row, column, item.grade)
            for row, hits in enumerate(rankings)
            for column, hit in enumerate(hits)
            for item in hit.found
        ]
    queries = tuple(gold)
    relevant = [
        (row, item.grade)
        for row, items in enumerate(gold.values())
        for item in items
        if item.grade > 0
    ]
    return Grid(queries, joined, lengths, judged, _transpose(found, 3), _transpose(relevant, 2))


def fill(arriving: Counts, width: int) -> Bools:
    """Return the mask of the first `width` places that have an item, of shape (..., places).

    `arriving`, of shape (..., hits), counts the items that come at each hit.
    """
    waiting = np.zeros(arriving.shape[:-1], dtype=np.int64)
    filled = np.zeros((*arriving.shape[:-1], width), dtype=bool)
    for place in range(width):
        if place < arriving.shape[-1]:
            waiting = waiting + arriving[..., place]
        filled[..., place] = waiting > 0
        waiting = waiting - filled[..., place]
    return filled


def add_up(values: Floats) -> Floats:
    """Return the sums of the last axis, added from left to right as trec_eval does."""
    if not values.shape[-1]:
        return np.zeros(values.shape[:-1])
    sums: Floats = np.cumsum(values, axis=-1)[..., -1]
    return sums


def divide(above: NDArray[np.generic], below: NDArray[np.generic]) -> Floats:
    """Return the quotients, 0 where the divisor is."""
    zeros = np.zeros(np.broadcast_shapes(above.shape, below.shape))
    return np.asarray(np.divide(above, below, out=zeros, where=below != 0))


def _transpose(rows: Sequence[tuple[int, ...]], columns: int) -> Counts:
    return np.array(rows, dtype=np.int64).reshape(-1, columns).T
