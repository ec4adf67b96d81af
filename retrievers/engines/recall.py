"""What approximate search misses: its lists against exact ones."""

from collections.abc import Callable, Sequence

import numpy as np

from retrievers.models.base import Vectors
from retrievers.ranking import Scored

QUERIES = 50
DEPTH = 100
ROWS_PER_BLOCK = 1 << 14
ROUNDING = 1e-6  # by which scores of one pair differ


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
    depth = min(depth, len(vectors))
    shares = []
    for query, least in zip(queries, _find_least(vectors, queries, depth), strict=True):
        found = list({position for position, _ in dense(query, depth)})
        near = vectors[found] @ query >= least - ROUNDING
        shares.append(min(int(near.sum()) / depth, 1.0))
    return shares


def _find_least(vectors: Vectors, queries: Sequence[Vectors], depth: int) -> Vectors:
    """Return the score of the last of the `depth` nearest rows to each query.

    Vectors may be more than memory holds: all queries are compared in one pass over them.
    """
    asked = np.stack(queries)
    best: Vectors = np.empty((len(asked), 0), np.float32)
    for begin in range(0, len(vectors), ROWS_PER_BLOCK):
        scores = asked @ vectors[begin : begin + ROWS_PER_BLOCK].T
        best = np.concatenate([best, scores], axis=1)
        best = -np.partition(-best, min(depth, best.shape[1]) - 1)[:, :depth]
    return np.asarray(best.min(axis=1))
