"""Tests of several correlated samples at once, by the largest statistic. Plain numbers only.

The samples are differences per case (rows) in several tests (columns). If nothing changed, a case's
differences might as well all have the other sign; so the signs of whole rows are drawn, and each
column's standardised sum is held against the most extreme one of all columns in each draw. That
bounds the chance of any false finding among the columns (Westfall and Young 1993, Resampling-based
Multiple Testing), and costs little where they move together, as Bonferroni's and Holm's bounds do.
The gate tests for drops in one step; a comparison tests both ways, step by step down.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.groups import Clusters, are_single, list_independent
from assay.eval.statistics.significance import ALPHA, RESAMPLES, TIE

# With up to 13 cases that moved, all 2^13 ways to choose signs are tried.
MOST_ENUMERATED = 13
DRAWS_AT_ONCE = 2_000
# Of a standardised sum; more than float32 makes of equal ones.
SAME = 1e-4


@dataclass(frozen=True, slots=True)
class FamilyTest:
    """Two-sided p-values by test: each for itself, and adjusted for all.

    `reach` is the smallest adjusted p-value that each test could have: if all cases that differ in
    it had the same sign, and the other tests were as they are. `level` is the level of each single
    test at which the largest statistic of all keeps .05 (one step): intervals and the power of the
    family are computed at it. `apart` holds, for each requested part of the family, the p-values
    adjusted for that part alone.
    """

    p_values: tuple[float, ...]
    adjusted: tuple[float, ...]
    reach: tuple[float, ...]
    level: float = ALPHA
    apart: tuple[tuple[float, ...], ...] = ()


def randomise_family(
    differences: NDArray[np.float64],
    parts: Sequence[Sequence[int]] = (),
    groups: NDArray[np.int64] | None = None,
    share: float = 0.0,
) -> FamilyTest:
    """Test every column of `differences`, of shape (cases, tests), for a mean other than 0.

    A case that is no part of a test has a 0 there. With up to 13 rows that are not 0 all signs are
    tried, else 9,999 draws with a fixed seed; a column's own p-value does not depend on the other
    columns. The adjustment is step-down (Westfall and Young 1993, algorithm 2.8): a finding no
    longer counts against the rest. The number of draws need not grow with the family, since no
    p-value is multiplied by its size.

    Each of `parts`, which are columns, is adjusted by the same draws as if it were the family.

    `groups` numbers the group of each case, from 0: then signs are drawn by group, and `share` is
    the share that these groups are of all there are (see `groups.list_independent`). With a single
    case in each group the result is the same, to the bit, as without.
    """
    families = [range(differences.shape[1]), *parts]
    sample = _Sample.of(differences, groups, share)
    tally = _Tally(sample, families)
    for signs in list_signs(sample.scaled) if len(sample.moved) else ():
        tally.add(signs)
    alone = tally.test_alone()
    adjusted = [tally.step_down(family, alone) for family in range(len(families))]
    for part, values in zip(parts, adjusted[1:], strict=True):
        few = np.count_nonzero(np.any(sample.differences[:, part] != 0, axis=1)) <= MOST_ENUMERATED
        if few and not sample.enumerable:  # all signs can be tried of it, if not of the whole
            of_part = randomise_family(differences[:, part], groups=groups, share=share)
            values[list(part)] = of_part.adjusted
    return FamilyTest(
        tuple(sample.spread(alone).tolist()),
        tuple(adjusted[0].tolist()),
        tuple(tally.find_reach(adjusted[0]).tolist()),
        tally.find_level(),
        tuple(
            tuple(values[list(part)].tolist())
            for part, values in zip(parts, adjusted[1:], strict=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The differences of a family, and its columns that are not all 0, each of length 1.

    Attributes:
        differences: Those that signs are drawn for, of shape (cases, tests).
        moved: The places of the columns that are not all 0.
        scaled: These columns; only the rows that are not all 0, if their signs can be enumerated.
        seen: The absolute sum of each as it was observed.
        mixed: True if that is not the sum of `scaled`, as where groups are a share of all.
    """

    differences: NDArray[np.float64]
    moved: NDArray[np.intp]
    scaled: NDArray[np.float32]
    seen: NDArray[np.float32]
    mixed: bool

    @classmethod
    def of(
        cls, differences: NDArray[np.float64], groups: NDArray[np.int64] | None, share: float
    ) -> "_Sample":
        """Return the sample of a family; see `randomise_family` for `groups` and `share`."""
        grouped = groups is not None and not are_single(groups)
        differences = np.where(np.abs(differences) > TIE, differences, 0.0)
        totals = differences.sum(axis=0)
        if groups is not None and grouped:
            differences = list_independent(differences, groups, share)
            differences = np.where(np.abs(differences) > TIE, differences, 0.0)
        scale = np.sqrt(np.sum(differences**2, axis=0))
        moved = np.flatnonzero(scale > 0)
        scaled = (differences[:, moved] / scale[moved]).astype(np.float32)
        rows = np.any(scaled != 0, axis=1)
        if np.count_nonzero(rows) <= MOST_ENUMERATED:
            scaled = scaled[rows]
        mixed = grouped and 0 < share < 1
        sums = totals[moved] / scale[moved] if mixed else scaled.sum(axis=0)
        return cls(differences, moved, scaled, np.abs(sums.astype(np.float32)), mixed)

    @property
    def enumerable(self) -> bool:
        """True if all signs of the rows can be tried."""
        return len(self.scaled) <= MOST_ENUMERATED

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the columns in `moved` as values of all tests; 1 for the others."""
        spread = np.ones(self.differences.shape[1])
        spread[self.moved] = values
        return spread


class _Tally:
    """Counts of the draws in which statistics of a sample are as extreme as those seen.

    `families` are columns of the differences, the first all of them.
    """

    def __init__(self, sample: _Sample, families: Sequence[Sequence[int]]) -> None:
        seen = sample.seen
        members = (np.flatnonzero(np.isin(sample.moved, family)) for family in families)
        self._sample = sample
        self._blocks = _find_blocks(sample.scaled) if len(seen) else []
        self._orders = [own[np.argsort(-seen[own], kind="stable")] for own in members]
        self._above = np.zeros(len(seen))  # draws in which a column itself is as extreme
        # Draws in which it or any of smaller statistic is.
        self._beyond = [np.zeros(len(order)) for order in self._orders]
        best = np.abs(sample.scaled).sum(axis=0)
        # The number of columns that would stay ahead of a column at its best.
        self._before = np.count_nonzero(seen[:, None] > best + SAME, axis=0)
        self._behind = [np.flatnonzero(self._before == place) for place in range(len(seen))]
        self._beyond_best = np.zeros(len(seen))
        self._limits, self._best_limits = seen - SAME, best - SAME
        self._extremes: list[NDArray[np.float32]] = []  # the largest statistic of each draw
        self._draws = 0
        # Where draws are random, what was seen counts as a draw too.
        self._extra = 0 if sample.enumerable else 1

    def add(self, signs: NDArray[np.float32]) -> None:
        """Count the draws of `signs`, of shape (cases, draws)."""
        scaled = self._sample.scaled
        drawn = np.empty((scaled.shape[1], signs.shape[1]), dtype=np.float32)
        for cases, columns in self._blocks:
            drawn[columns] = np.abs(signs[cases].T @ scaled[cases, columns]).T
        self._above += np.count_nonzero(drawn >= self._limits[:, None], axis=1)
        for order, count in zip(self._orders, self._beyond, strict=True):
            whole = order is self._orders[0]
            largest = np.zeros_like(drawn[0])
            # A column at a time, which the processor's cache holds.
            for place in reversed(range(len(order))):
                column = order[place]
                np.maximum(largest, drawn[column], out=largest)
                count[place] += np.count_nonzero(largest >= self._limits[column])
                for other in self._behind[place] if whole else ():
                    self._beyond_best[other] += np.count_nonzero(
                        largest >= self._best_limits[other]
                    )
            if whole:
                self._extremes.append(largest)
        self._draws += signs.shape[1]

    def test_alone(self) -> NDArray[np.float64]:
        """Return the p-value of each column for itself."""
        scaled, seen, mixed = self._sample.scaled, self._sample.seen, self._sample.mixed
        alone = self._share(self._above)
        for i in np.flatnonzero(np.count_nonzero(scaled, axis=0) <= MOST_ENUMERATED):
            alone[i] = _enumerate_alone(scaled[:, i], float(seen[i]) if mixed else None)
        return alone

    def step_down(self, family: int, alone: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the adjusted p-values of all tests in a family; 1 outside of it."""
        order, values = self._orders[family], np.ones(len(alone))
        stepped = np.maximum(self._share(self._beyond[family]), alone[order])
        values[order] = np.maximum.accumulate(stepped) if len(order) else stepped
        return self._sample.spread(values)

    def find_reach(self, adjusted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest adjusted p-value that each test could have; see `FamilyTest`."""
        ahead = np.append(0.0, adjusted[self._sample.moved[self._orders[0]]])[self._before]
        least = 2.0 ** (1 - np.count_nonzero(self._sample.scaled, axis=0))
        reach = np.max([self._share(self._beyond_best), least, ahead], axis=0)
        return self._sample.spread(reach)

    def find_level(self) -> float:
        """Return the level of each single test at which the largest statistic keeps .05."""
        if len(self._sample.moved) < 2:
            return ALPHA
        return _find_level(np.concatenate(self._extremes), self._extra)

    def _share(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return (counts + self._extra) / max(self._draws + self._extra, 1)


def _find_blocks(
    scaled: NDArray[np.float32],
) -> list[tuple[slice, NDArray[np.intp]]]:
    """Return the columns in groups, each with the rows beyond which all of it is 0.

    No two groups share a row: types of query, which have few queries each, are drawn separately.
    """
    filled = scaled != 0
    first = filled.argmax(axis=0)
    end = len(scaled) - filled[::-1].argmax(axis=0)
    order = np.argsort(first, kind="stable")
    reached = np.maximum.accumulate(end[order])
    gaps = np.flatnonzero(first[order][1:] >= reached[:-1]) + 1
    groups = list(map(np.sort, np.split(order, gaps)))
    if len(groups) == 1 or min(map(len, groups)) == 1:  # a BLAS sums one column otherwise
        return [(slice(None), np.arange(len(order)))]
    return [(slice(first[own].min(), end[own].max()), own) for own in groups]


def _find_level(extremes: NDArray[np.float32], extra: int) -> float:
    """Return the two-sided normal level of the largest statistic that is no finding at .05."""
    allowed = math.floor(ALPHA * (len(extremes) + extra)) - extra
    place = len(extremes) - 1 - max(allowed, 0)
    critical = float(np.partition(extremes, place)[place]) + SAME
    return min(ALPHA, 2 * (1 - NormalDist().cdf(critical)))


def list_signs(rows: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Yield signs of shape (cases, draws), in blocks: all there are, or random ones.

    A case is given the same random signs in every family of the same cases.
    """
    if len(rows) <= MOST_ENUMERATED:
        yield _enumerate_signs(len(rows))
        return
    for begin in range(0, RESAMPLES, DRAWS_AT_ONCE):
        yield _draw_block(len(rows), begin).astype(np.float32)


@lru_cache(maxsize=-(-RESAMPLES // DRAWS_AT_ONCE))
def _draw_block(n: int, begin: int) -> NDArray[np.int8]:
    """Return random signs of shape (n, draws); each family of `n` cases is given the same."""
    size = min(DRAWS_AT_ONCE, RESAMPLES - begin)
    bits = np.random.default_rng((SEED, begin)).integers(0, 2, (n, size), dtype=np.int8)
    return bits * 2 - 1


def _enumerate_alone(column: NDArray[np.float32], seen: float | None = None) -> float:
    """Return the exact two-sided p-value of a column with few values other than 0.

    `seen` is the absolute sum that was observed; that of the values if not given.
    """
    values = column[column != 0]
    sums = np.abs(values @ _enumerate_signs(len(values)))
    return float(np.mean(sums >= (abs(values.sum()) if seen is None else seen) - SAME))


@dataclass(frozen=True, slots=True)
class DropTest:
    """One-sided p-values by measure, adjusted for all, and what an alarm takes.

    `critical` is how many standard errors a mean must lie below 0 for its p-value to reach the
    level; a standard error is the root mean square of the differences over the root of n.
    """

    p_values: tuple[float, ...]
    critical: float


def randomise_drops(
    differences: NDArray[np.float64], level: float, clusters: Clusters | None = None
) -> DropTest:
    """Test every column of `differences`, of shape (cases, measures), for a mean below 0.

    By exact enumeration with up to 13 rows that are not 0, else by 9,999 draws with a fixed seed.
    With `clusters` signs are drawn by group, as `randomise_family` does.
    """
    totals = differences.sum(axis=0)
    if clusters is not None and not are_single(clusters.numbers):
        differences = list_independent(differences, clusters.numbers, clusters.share)
    rows = differences[np.any(np.abs(differences) > TIE, axis=1)]
    scale = np.sqrt(np.sum(rows**2, axis=0))
    moved = scale > 0
    p_values = np.ones(differences.shape[1])
    lowest = np.zeros(1)
    extra = 0
    if moved.any():
        rows = (rows[:, moved] / scale[moved]).astype(np.float32)
        if len(rows) <= MOST_ENUMERATED:
            signs = _enumerate_signs(len(rows))
        else:
            # The draws are made for all rows, so that one set serves every sample of a size.
            signs = _draw_signs(len(differences))[: len(rows)]
            extra = 1  # what was seen counts as a draw too
        # A BLAS would share this narrow product among threads, which costs more than it saves.
        lowest = np.min(np.einsum("nd,nm->md", signs, rows), axis=0)
        sums = rows.sum(axis=0) if clusters is None else totals[moved] / scale[moved]
        below = [np.count_nonzero(lowest <= seen + SAME) for seen in sums]
        p_values[moved] = (np.array(below) + extra) / (len(lowest) + extra)
    reached = math.floor(level * (len(lowest) + extra)) - extra
    threshold = np.partition(lowest, reached)[reached] if reached > 0 else -math.inf
    beyond = lowest[lowest < threshold - SAME]
    if len(beyond):
        critical = -float(beyond.max())
    else:  # so few rows moved that no p-value reaches the level: the normal limit instead
        critical = NormalDist().inv_cdf(1 - level / len(p_values))
    return DropTest(tuple(p_values.tolist()), critical)


def find_smallest_p(n: int) -> float:
    """Return the smallest p-value that `randomise_drops` can give, if `n` signs are drawn."""
    return 2.0**-n if n <= MOST_ENUMERATED else 1 / (RESAMPLES + 1)


@lru_cache(maxsize=4)
def _draw_signs(n: int) -> NDArray[np.float32]:
    """Return random signs of shape (n, draws)."""
    draws = np.random.default_rng(SEED).integers(0, 2, (n, RESAMPLES), dtype=np.int8)
    return (draws * 2 - 1).astype(np.float32)


@lru_cache(maxsize=MOST_ENUMERATED)
def _enumerate_signs(n: int) -> NDArray[np.float32]:
    """Return all signs, of shape (n, 2^n)."""
    bits = (np.arange(2**n) >> np.arange(n)[:, None]) & 1
    return (bits * 2 - 1).astype(np.float32)
