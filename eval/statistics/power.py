"""The power of a test of drops to find one of a given size. Plain numbers only.

A mean can drop in two ways. A spread drop lowers every case a little, and leaves the differences
varying as they do; a sparse one takes everything from a few cases, and varies the more for it. The
first is the easier to find, and which it will be is not known beforehand: both are stated. The
power is the share of simulated samples in which the test itself (`max_t.randomise_drops`, with
fewer draws) finds the drop. The samples are cases drawn with replacement, each with its difference.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.groups import Clusters, are_single, list_independent
from assay.eval.statistics.max_t import SAME
from assay.eval.statistics.significance import POWER

SAMPLES, FEWEST_SAMPLES = 200, 100
CASES_AT_ONCE = 200_000  # of all samples; more cases than a thousand have fewer samples
SIGNS = 2_000
STEP = 1.3  # from one drop that is tried to the next
ROUNDING = 1e-6  # of float32

Numbers = NDArray[np.float64]
Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """The `powers` with which true `drops` of a mean are found, in ascending order.

    `floor` is a drop below which no finding counts, `ceiling` the largest drop there can be.
    """

    drops: tuple[float, ...]
    powers: tuple[float, ...]
    floor: float
    ceiling: float

    def find(self) -> float | None:
        """Return the smallest drop that is found with power 0.8; None where none is."""
        powers = np.maximum.accumulate(self.powers)
        above = int(np.searchsorted(powers, POWER))
        if above == len(powers):
            return None
        found = self.drops[above]
        if above:
            low, high = (_to_score(powers[i]) for i in (above - 1, above))
            share = (_to_score(POWER) - low) / (high - low)
            found = self.drops[above - 1] + share * (found - self.drops[above - 1])
        return max(found, self.floor) if found <= self.ceiling else None


@dataclass(frozen=True, slots=True)
class DropPower:
    """The power of the test for drops of one measure, spread and sparse."""

    spread: PowerCurve
    sparse: PowerCurve

    def find(self) -> float | None:
        """Return the smallest drop found with power 0.8 however it comes about, or None."""
        found = self.spread.find(), self.sparse.find()
        return None if found[0] is None or found[1] is None else max(found[0], found[1])


def foresee_drops(
    scores: Numbers,
    differences: Numbers,
    level: float,
    minima: Sequence[float],
    clusters: Clusters | None = None,
) -> list[DropPower]:
    """Return the power with which drops of the mean of each measure are found.

    A drop is found when the mean difference is the measure's minimum or more below 0, and its
    p-value, adjusted for all measures, is at most `level`. All measures drop together: alike, or by
    all the scores of the same cases.

    Args:
        scores: those that can drop, of shape (cases, measures).
        differences: their variation without a drop, of the same shape. Each may as well have the
            other sign, as the test presumes; so their mean does not count.
        level: the largest p-value of a finding.
        minima: the smallest drop of each measure that counts.
        clusters: the groups that signs are drawn by: these drop, or not, and not single cases. They
            count as if all others of the collection were left to chance, which states no less.

    """
    if clusters is not None and not are_single(clusters.numbers):
        # Of sums whose mean over groups is the mean over cases.
        scale = (int(clusters.numbers.max()) + 1) / len(scores)
        scores = list_independent(scores, clusters.numbers) * scale
        differences = list_independent(differences, clusters.numbers) * scale
    n, measures = scores.shape
    means = scores.mean(axis=0)
    rng = np.random.default_rng((SEED, n))
    count = max(FEWEST_SAMPLES, min(SAMPLES, CASES_AT_ONCE // n))
    losses = -scores.astype(np.float32)[rng.integers(n, size=(count, n))]
    # Drawn twice: other runs vary as these cases do, but some more than they happen to, some less.
    first, second = rng.integers(n, size=(2, count, n))
    drawn = np.take_along_axis(first, second, axis=1)
    either_way = rng.integers(0, 2, (count, n, 1), dtype=np.int8) * np.int8(2) - np.int8(1)
    changes = differences.astype(np.float32)[drawn] * either_way
    chances = rng.random((count, n, 1), dtype=np.float32)
    signs = (rng.integers(0, 2, (n, SIGNS), dtype=np.int8) * 2 - 1).astype(np.float32)
    limits = np.array(minima) - ROUNDING

    def find_spread(drop: float) -> Numbers:
        return _find_shares(changes - np.float32(drop), signs, level, limits)

    def find_sparse(share: float) -> Numbers:
        return _find_shares(np.where(chances < share, losses, changes), signs, level, limits)

    alike, powers_alike = _trace(find_spread, min(minima) / STEP**2, float(means.max()), measures)
    lost, powers_lost = _trace(find_sparse, min(1.0, 1 / n), 1.0, measures)
    return [
        DropPower(
            PowerCurve(alike, tuple(powers_alike[:, i]), minima[i], means[i]),
            PowerCurve(
                tuple(share * means[i] for share in lost),
                tuple(powers_lost[:, i]),
                minima[i],
                means[i],
            ),
        )
        for i in range(measures)
    ]


def _trace(
    find: Callable[[float], Numbers], first: float, last: float, measures: int
) -> tuple[tuple[float, ...], Numbers]:
    """Return drops from `first` to `last`, ascending, and their powers by measure.

    The power rises with the drop. So bisection finds, among drops that grow by the factor `STEP`,
    the first of power 0.8 of each measure and the one before it.
    """
    drops = [first]
    while drops[-1] < last:
        drops.append(min(last, drops[-1] * STEP))
    tried: dict[int, Numbers] = {}

    def find_power(step: int, measure: int) -> float:
        if step not in tried:
            tried[step] = find(drops[step])
        return float(tried[step][measure])

    steps = range(len(drops))
    for measure in range(measures):
        bisect_left(steps, POWER, key=partial(find_power, measure=measure))
    order = sorted(tried)
    return tuple(drops[step] for step in order), np.array([tried[step] for step in order])


def _find_shares(changed: Samples, signs: Samples, level: float, minima: Numbers) -> Numbers:
    """Return for each measure the share of the samples in which a drop is found.

    `changed` has the shape (samples, cases, measures), `signs` (cases, draws).
    """
    samples, n, measures = changed.shape
    scale = np.sqrt(np.sum(changed**2, axis=1, keepdims=True))
    scaled = changed / np.where(scale > 0, scale, 1)
    seen = scaled.sum(axis=1)
    rows = scaled.transpose(2, 0, 1).reshape(measures * samples, n)
    lowest = (rows @ signs).reshape(measures, samples, -1).min(axis=0)
    below = [np.count_nonzero(lowest <= at[:, None] + SAME, axis=1) for at in seen.T]
    found = (np.stack(below, axis=1) + 1) / (lowest.shape[1] + 1) <= level
    found &= changed.mean(axis=1, dtype=float) <= -minima
    shares: Numbers = np.mean(found, axis=0)
    return shares


def _to_score(power: float) -> float:
    """Return the standard normal score of a power, which may be 0 or 1."""
    edge = 1 / (2 * SAMPLES)
    return NormalDist().inv_cdf(min(max(float(power), edge), 1 - edge))
