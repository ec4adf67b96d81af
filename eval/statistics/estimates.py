"""Statistics of plain numbers; nothing here knows of retrieval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000
SEED = 20_240_517


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of a sample of `n`, with its interval at 95 % confidence."""

    value: float
    low: float
    high: float
    n: int


def estimate_mean(sample: Sequence[float]) -> Estimate:
    """Return the mean of `sample` with its percentile-bootstrap interval."""
    return _estimate([sample], lambda values, axis: np.mean(values, axis=axis))


def estimate_grouped_mean(sample: Sequence[float], groups: Sequence[int]) -> Estimate:
    """Return the mean of `sample` with a bootstrap interval that draws whole groups.

    `groups` numbers, from 0, the group that each value belongs to. With a group for each value it
    is `estimate_mean`.
    """
    sums, sizes = np.bincount(groups, sample).tolist(), np.bincount(groups).tolist()

    def mean(sums: Any, sizes: Any, axis: int) -> Any:
        return np.sum(sums, axis=axis) / np.sum(sizes, axis=axis)

    return replace(_estimate([sums, sizes], mean), n=len(sample))


def estimate_percentile(sample: Sequence[float], percent: float) -> Estimate:
    """Return a percentile of `sample` (linear interpolation) with its bootstrap interval."""
    return _estimate([sample], lambda values, axis: np.percentile(values, percent, axis=axis))


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


def estimate_share(successes: int, n: int) -> Estimate:
    """Return `successes` of `n` as a share, with the exact binomial interval.

    It is that of Clopper and Pearson (1934). The bootstrap gives a share of 0 or 1 an interval of
    no width, as though a few successes proved that there are no failures.
    """
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(CONFIDENCE, method="exact")
    return Estimate(successes / n, float(interval.low), float(interval.high), n)


def _estimate(samples: Sequence[Sequence[float]], statistic: Callable[..., Any]) -> Estimate:
    """Bootstrap as SciPy does: 10,000 resamples, percentile intervals, a fixed seed.

    Several samples are paired. Samples of one value, or of equal values, have an interval of no
    width.
    """
    from scipy.stats import bootstrap

    data = [np.asarray(sample, dtype=float) for sample in samples]
    if not len(data[0]):
        raise ValueError("an estimate needs at least one value")
    value = float(statistic(*data, axis=0))
    if all(np.all(values == values[0]) for values in data):
        return Estimate(value, value, value, len(data[0]))
    interval = bootstrap(
        data,
        statistic,
        n_resamples=RESAMPLES,
        batch=1000,
        paired=len(data) > 1,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), len(data[0]))
