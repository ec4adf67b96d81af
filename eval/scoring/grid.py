"""The joined rankings of a run side by side in arrays, for what looks at all queries at once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.eval.scoring.calculation import Gold, Joined
from assay.eval.scoring.measure import Measure


@dataclass(frozen=True)
class Grid:
    """Joined rankings in arrays, a row a query in the order of `queries`, a column a hit.

    Shorter rankings end in columns where all is 0. `returned` and `judged`, of shape
    (queries, hits), say where there is a hit and whether it covers a gold item. `coming`, of shape
    (levels, queries, hits), counts the items of at least grade 1, 2, … that count at each hit, and
    `relevant`, of shape (levels, queries), all there are; levels go to the highest grade of any.
    """

    queries: tuple[str, ...]
    joined: Joined
    returned: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    coming: NDArray[np.int64]
    relevant: NDArray[np.int64]

    @cached_property
    def unjudged(self) -> NDArray[np.bool_]:
        """Where there is a hit that no one has judged, of shape (queries, hits)."""
        return self.returned & ~self.judged

    def limit(self, measure: Measure) -> NDArray[np.int64]:
        """Return how many of the first hits of each query the measure looks at."""
        return np.array([len(measure.cut(self.joined[query])) for query in self.queries], int)

    def mark_above(self, measure: Measure) -> NDArray[np.bool_]:
        """Return where the hits stand that the measure looks at, of shape (queries, hits)."""
        return np.arange(self.returned.shape[1]) < self.limit(measure)[:, None]

    def split(self, size: int) -> Iterator["Grid"]:
        """Yield this grid in parts of `size` queries."""
        for begin in range(0, len(self.queries), size):
            rows = slice(begin, begin + size)
            yield replace(
                self,
                queries=self.queries[rows],
                returned=self.returned[rows],
                judged=self.judged[rows],
                coming=self.coming[:, rows],
                relevant=self.relevant[:, rows],
            )


def lay_out(joined: Joined, gold: Gold) -> Grid:
    """Return the rankings of the queries of `gold` side by side."""
    queries = tuple(gold)
    levels = max([1, *(item.grade for items in gold.values() for item in items)])
    width = max((len(joined[query]) for query in queries), default=0)
    returned = np.zeros((len(queries), width), dtype=bool)
    judged = np.zeros_like(returned)
    coming = np.zeros((levels, *returned.shape), dtype=np.int64)
    relevant = np.zeros((levels, len(queries)), dtype=np.int64)
    for row, query in enumerate(queries):
        hits = joined[query]
        returned[row, : len(hits)] = True
        judged[row, : len(hits)] = [hit.judged for hit in hits]
        for column, hit in enumerate(hits):
            for item in hit.found:
                coming[: item.grade, row, column] += 1
        for item in gold[query]:
            if item.grade > 0:  # as few are
                relevant[: item.grade, row] += 1
    return Grid(queries, joined, returned, judged, coming, relevant)
