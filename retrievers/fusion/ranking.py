"""Ordering scored chunks.

Chunks are held in descending order of their ids, so that a lower position wins a tie: that is
trec_eval's rule (equal scores by descending id), kept by every leg and stage.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

Scored = tuple[int, float]
Positions = NDArray[np.intp]

DECIMALS = 9
GROUPS = 10  # for each place wanted, of whose maxima the limit is guessed
DEEP = 1_000  # places beyond which a list is sorted only when it is read


class DeepList(Sequence[Scored]):
    """The `depth` best (position, score) pairs, best first, sorted when they are first read.

    `positions` rise, and `scores` are theirs.
    """

    def __init__(self, positions: Positions, scores: NDArray[np.floating], depth: int) -> None:
        self._positions, self._scores = positions, scores
        self._size = min(depth, len(scores))

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, i: int) -> Scored: ...

    @overload
    def __getitem__(self, i: slice) -> list[Scored]: ...

    def __getitem__(self, i: int | slice) -> Scored | list[Scored]:
        return self._pairs[i]

    def find(self, position: int) -> int | None:
        """Return the place, from 0, of the chunk at `position`, None if it is not in the list."""
        i = int(self._positions.searchsorted(position))
        if i == len(self._positions) or self._positions[i] != position:
            return None
        score = self._scores[i]
        ahead = np.count_nonzero(self._scores > score)
        place = int(ahead + np.count_nonzero(self._scores[:i] == score))
        return place if place < self._size else None

    @cached_property
    def _pairs(self) -> list[Scored]:
        return _sort(self._positions, self._scores, self._size)


def best(
    scores: NDArray[np.floating], depth: int, allowed: Positions | None = None
) -> Sequence[Scored]:
    """Return the `depth` best (position, score) pairs of `scores`, best first.

    With `allowed`, which rise, those of these positions alone.
    """
    if allowed is not None:
        scores = scores[allowed]
    if depth < len(scores):
        # Everything that ties with the last place competes for it by position.
        candidates = np.flatnonzero(scores >= _find_floor(scores, depth))
    else:
        candidates = np.arange(len(scores))
    return _list(allowed, candidates, scores[candidates], depth)


def best_matches(
    scores: NDArray[np.floating], depth: int, allowed: Positions | None = None
) -> Sequence[Scored]:
    """Return the `depth` best (position, score) pairs of `scores` above 0, best first.

    With `allowed`, which rise, those of these positions alone.

    Sums taken in another order differ in their last bits. Rounding keeps equal evidence equal, so
    that ties are broken by position whichever library scored.
    """
    if allowed is not None:
        scores = scores[allowed]
    least = 0.0
    if depth < len(scores):
        floor = float(_find_floor(scores, depth))
        # What lies below it by less than this may equal it once rounded.
        least = max(floor - 10.0**-DECIMALS - abs(floor) * 1e-12, 0.0)
    found = np.flatnonzero(scores >= least if least else scores > 0)
    rounded = np.round(scores[found], DECIMALS)
    if not rounded.all():
        found, rounded = found[rounded > 0], rounded[rounded > 0]
    return _list(allowed, found, rounded, depth)


def _list(
    allowed: Positions | None, found: Positions, scores: NDArray[np.floating], depth: int
) -> Sequence[Scored]:
    """Return the best of `found`, mapped to the positions of all if it is of `allowed`."""
    positions = found if allowed is None else allowed[found]
    return (DeepList if depth > DEEP else _sort)(positions, scores, depth)


def _sort(positions: Positions, scores: NDArray[np.floating], depth: int) -> list[Scored]:
    order = np.argsort(-scores, kind="stable")[:depth]
    return list(zip(positions[order].tolist(), scores[order].tolist(), strict=True))


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
