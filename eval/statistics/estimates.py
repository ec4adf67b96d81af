"""Statistics of plain numbers; nothing here knows of retrieval."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
RESAMPLES = 10_000
BATCH = 1_000
SEED = 20_240_517
MEDIAN = 50
FEWEST_PAIRS, FEWEST_PAIRS_BEYOND = 6, 20  # for a ratio of medians, of higher percentiles

# Where the mean of a sample can lie: anywhere, or where shares and most measures do.
Range = tuple[float, float]
ANY: Range = (-math.inf, math.inf)
SHARE: Range = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class OpenEstimate:
    """A statistic of a sample of `n`, with its interval at 95 % confidence.

    An end is None where the sample is too small to bound the statistic on that side.
    """

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Estimate(OpenEstimate):
    """An estimate whose interval has both ends."""

    low: float
    high: float


def make_estimate(value: float, low: float | None, high: float | None, n: int) -> OpenEstimate:
    """Return an estimate, as an `Estimate` where both ends are there."""
    if low is None or high is None:
        return OpenEstimate(value, low, high, n)
    return Estimate(value, low, high, n)


def estimate_mean(sample: Sequence[float], within: Range = ANY) -> Estimate:
    """Return the mean of `sample` with Student's interval, cut to `within`.

    The interval of Clopper and Pearson where a share's values are all 0 or 1. A single value has
    the whole of a bounded range for its interval; other equal values have one of no width.
    """
    values = np.asarray(sample, dtype=float)
    n = len(values)
    if not n:
        raise ValueError("an estimate needs at least one value")
    mean = float(np.mean(values))
    if within == SHARE and np.all((values == 0) | (values == 1)):
        return estimate_share(round(float(np.sum(values))), n)
    if n == 1 and np.all(np.isfinite(within)):
        return Estimate(mean, *within, n)
    if np.all(values == values[0]):
        return Estimate(mean, mean, mean, n)
    from scipy.special import stdtrit

    away = float(np.sum((values - mean) ** 2))
    half = float(stdtrit(n - 1, 1 - TAIL)) * math.sqrt(n / (n - 1) * away) / n
    return Estimate(mean, max(mean - half, within[0]), min(mean + half, within[1]), n)


def estimate_percentile(sample: Sequence[float], percent: float) -> OpenEstimate:
    """Return a percentile of `sample` (linear interpolation) between two of its order statistics.

    They are those that the binomial distribution of the number of values below the percentile
    allows (David and Nagaraja 2003, Order Statistics, 7.1): each end is wrong with a chance of at
    most .025, whatever the distribution. There is no end where even the extreme value may lie
    beyond the percentile with more than that: no upper one for p95 of fewer than 72 values and p99
    of fewer than 368.
    """
    values = np.sort(np.asarray(sample, dtype=float))
    n = len(values)
    if not n:
        raise ValueError("an estimate needs at least one value")
    lower, upper = _rank_ends(n, percent / 100)
    return make_estimate(
        float(np.percentile(values, percent)),
        float(values[lower - 1]) if lower >= 1 else None,
        float(values[upper - 1]) if upper <= n else None,
        n,
    )


@lru_cache(maxsize=1000)
def _rank_ends(n: int, share: float) -> tuple[int, int]:
    """Return the ranks, from 1, of the ends of the interval; 0 or n + 1 where there is none."""
    from scipy.special import bdtr

    below = bdtr(np.arange(n + 1), n, share)  # the chance of at most so many below the percentile
    return int(np.count_nonzero(below <= TAIL)), 1 + int(np.count_nonzero(below < 1 - TAIL))


def allows_ratio(n: int, percent: float) -> bool:
    """Return True if `n` pairs are enough for a valid interval of `estimate_percentile_ratio`.

    The bootstrap draws no value beyond the largest seen: with fewer pairs its interval is too
    short.
    """
    return n >= (FEWEST_PAIRS if percent <= MEDIAN else FEWEST_PAIRS_BEYOND)


def estimate_percentile_ratio(
    base: Sequence[float], other: Sequence[float], percent: float
) -> Estimate:
    """Return a percentile of `other` over that of `base`, with its paired bootstrap interval.

    The samples are paired and positive: pairs are resampled, so what both share cancels out.
    """

    def ratio(old: Any, new: Any, axis: int) -> Any:
        return np.percentile(new, percent, axis=axis) / np.percentile(old, percent, axis=axis)

    return _estimate([base, other], ratio)


def estimate_mean_ratio(base: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return the mean of `other` over that of `base`, with its paired bootstrap interval.

    The samples are paired and not negative. Equal means have a ratio of 1, also where they are 0.
    Infinite where only that of `base` is 0; so is its interval, where that of many resamples is.
    """

    def ratio(old: Any, new: Any, axis: int) -> Any:
        below, above = np.mean(old, axis=axis), np.mean(new, axis=axis)
        return np.where(below == above, 1.0, above / below)

    with np.errstate(divide="ignore", invalid="ignore"):
        return _estimate([base, other], ratio)


def estimate_share(successes: float, n: float) -> Estimate:
    """Return `successes` of `n` as a share, with the exact binomial interval.

    It is that of Clopper and Pearson (1934). Others give a share of 0 or 1 an interval of no width,
    as though a few successes proved that there are no failures. An effective size may be broken.
    """
    from scipy.special import betaincinv

    low = betaincinv(successes, n - successes + 1, TAIL) if successes else 0.0
    high = betaincinv(successes + 1, n - successes, 1 - TAIL) if successes < n else 1.0
    return Estimate(successes / n, float(low), float(high), round(n))


def _estimate(samples: Sequence[Sequence[float]], statistic: Callable[..., Any]) -> Estimate:
    """Bootstrap: 10,000 resamples, percentile intervals, a fixed seed.

    Several samples are paired. Samples of one value, or of equal values, have an interval of no
    width. It is what `scipy.stats.bootstrap` returns, to the bit; to import that takes longer.
    """
    data = [np.asarray(sample, dtype=float) for sample in samples]
    size = len(data[0])
    if not size:
        raise ValueError("an estimate needs at least one value")
    value = float(statistic(*data, axis=0))
    if all(np.all(values == values[0]) for values in data):
        return Estimate(value, value, value, size)
    rng = np.random.default_rng(SEED)
    drawn = (rng.integers(0, size, (BATCH, size)) for _ in range(RESAMPLES // BATCH))
    found = [statistic(*(values[places] for values in data), axis=-1) for places in drawn]
    ordered = np.sort(np.concatenate(found))
    # Between the values on both sides; np.percentile rounds otherwise.
    shares = np.array([TAIL, 1 - TAIL])
    place, between = np.divmod(shares * RESAMPLES + (1 - shares), 1)
    before = place.astype(int) - 1
    low, high = (1 - between) * ordered[before] + between * ordered[before + 1]
    return Estimate(value, float(low), float(high), size)
