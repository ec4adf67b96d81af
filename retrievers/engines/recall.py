"""What approximate search misses: its lists against exact ones."""

from collections.abc import Callable, Sequence

import numpy as np

from retrievers.models.base import Vectors
from retrievers.ranking import Scored

QUERIES = 50
DEPTH = 100


def search_exactly(vectors: Vectors, query: Vectors, depth: int) -> set[int]:
    """Return the positions of the `depth` rows of `vectors` nearest to `query`."""
    scores = vectors @ query
    depth = min(depth, len(scores))
    return {int(at) for at in np.argpartition(-scores, depth - 1)[:depth]}


def measure_recall(
    dense: Callable[[Vectors, int], list[Scored]],
    vectors: Vectors,
    queries: Sequence[Vectors] | None = None,
    depth: int = DEPTH,
) -> float:
    """Return the mean share of the `depth` nearest texts that `dense` finds, to four decimals.

    Without `queries`, up to 50 of the collection's own vectors are asked, evenly spaced. Of texts
    that are equally near any will do.
    """
    if queries is None:
        chosen = np.linspace(0, len(vectors) - 1, min(len(vectors), QUERIES)).astype(int)
        queries = list(vectors[chosen])
    return round(float(np.mean(measure_shares(dense, vectors, queries, depth))), 4)


def measure_shares(
    dense: Callable[[Vectors, int], list[Scored]],
    vectors: Vectors,
    queries: Sequence[Vectors],
    depth: int,
) -> list[float]:
    """Return, for each query, the share of the `depth` nearest texts that `dense` finds."""
    return [measure_share(vectors, query, dense(query, depth), depth) for query in queries]


def measure_share(vectors: Vectors, query: Vectors, found: Sequence[Scored], depth: int) -> float:
    """Return the share of the `depth` texts nearest to one query that are among those `found`."""
    scores = vectors @ query
    exact = search_exactly(vectors, query, depth)
    least = min(scores[at] for at in exact) - 1e-6
    positions = {position for position, _ in found}
    near = sum(bool(scores[position] >= least) for position in positions)
    return min(near / len(exact), 1.0)
