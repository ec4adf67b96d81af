"""Ordering scored chunks.

Chunks are held in descending order of their ids, so that a lower position wins a tie: that is
trec_eval's rule (equal scores by descending id), kept by every leg and stage.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Scored = tuple[int, float]
Positions = NDArray[np.intp]

DECIMALS = 9
GROUPS = 10  # for each place wanted, of whose maxima the limit is guessed


def best(
    scores: NDArray[np.floating], depth: int, allowed: Positions | None = None
) -> list[Scored]:
    """Return the `depth` best (position, score) pairs of `scores`, best first.

    With `allowed`, which rise, those of these positions alone.
    """
    if allowed is not None:
        return _name(allowed, best(scores[allowed], depth))
    if depth < len(scores):
        # Everything that ties with the last place competes for it by position.
        candidates = np.flatnonzero(scores >= _find_floor(scores, depth))
    else:
        candidates = np.arange(len(scores))
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:depth]
    return list(zip(order.tolist(), scores[order].tolist(), strict=True))


def best_matches(
    scores: NDArray[np.floating], depth: int, allowed: Positions | None = None
) -> list[Scored]:
    """Return the `depth` best (position, score) pairs of `scores` above 0, best first.

    With `allowed`, which rise, those of these positions alone.

    Sums taken in another order differ in their last bits. Rounding keeps equal evidence equal, so
    that ties are broken by position whichever library scored.
    """
    if allowed is not None:
        return _name(allowed, best_matches(scores[allowed], depth))
    found = np.flatnonzero(scores > 0)
    held = scores[found]
    if depth < len(held):
        last = float(np.partition(held, len(held) - depth)[len(held) - depth])
        # What lies below it by less than this may equal it once rounded.
        near = held >= last - 10.0**-DECIMALS - abs(last) * 1e-12
        found, held = found[near], held[near]
    rounded = np.round(held, DECIMALS)
    order = np.argsort(-rounded, kind="stable")[:depth]
    order = order[rounded[order] > 0]
    return list(zip(found[order].tolist(), rounded[order].tolist(), strict=True))


def _name(allowed: Positions, found: list[Scored]) -> list[Scored]:
    """Return pairs by the positions that `allowed` has where they count from 0."""
    return [(int(allowed[i]), score) for i, score in found]


def _find_floor(scores: NDArray[np.floating], depth: int) -> np.floating:
    """Return a score that at least `depth` of more than `depth` scores reach, and few others.

    It is a limit for the maxima of groups, of which `depth` reach it. Partitioning those takes a
    fraction of what partitioning all scores does.
    """
    groups = depth * GROUPS
    rows = len(scores) // groups
    tops = scores[: rows * groups].reshape(rows, groups).max(axis=0) if rows > 1 else scores
    floor: np.floating = np.partition(tops, len(tops) - depth)[len(tops) - depth]
    return floor


def ordered(scored: Iterable[Scored]) -> list[Scored]:
    """Return (position, score) pairs best first, ties by position."""
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
