"""The recall of approximate search against exact search."""

from collections.abc import Callable, Sequence

import numpy as np

from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

QUERIES = 50
DEPTH = 100
ROWS_PER_BLOCK = 1 << 14
ROUNDING = 1e-6  # by which scores of one pair differ


def measure_recall(
    dense: Callable[[Vectors, int], Sequence[Scored]],
    vectors: Vectors,
    queries: Sequence[Vectors] | None = None,
    depth: int = DEPTH,
) -> float:
    """Return the mean share of the `depth` nearest texts that `dense` finds, to four decimals.

    Without `queries`, up to 50 of the collection's own vectors are searched for, evenly spaced.
    Any of several equally near texts counts as found.
    """
    if queries is None:
        chosen = np.linspace(0, len(vectors) - 1, min(len(vectors), QUERIES)).astype(int)
        queries = list(vectors[chosen])
    return round(float(np.mean(measure_shares(dense, vectors, queries, depth))), 4)


def measure_shares(
    dense: Callable[[Vectors, int], Sequence[Scored]],
    vectors: Vectors,
    queries: Sequence[Vectors],
    depth: int,
) -> list[float]:
    """Return, for each query, the share of the `depth` nearest texts that `dense` finds."""
    return [
        _share(vectors, query, dense(query, depth), least, depth)
        for query, least in zip(queries, _find_least(vectors, queries, depth), strict=True)
    ]


def _share(
    vectors: Vectors, query: Vectors, found: Sequence[Scored], least: float, depth: int
) -> float:
    positions = list({position for position, _ in found})
    near = vectors[positions] @ query >= least - ROUNDING
    return min(int(near.sum()) / min(depth, len(vectors)), 1.0)


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
