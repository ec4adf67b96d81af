"""Statistics of plain numbers; nothing here knows of retrieval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    return _estimate(sample, lambda values, axis: np.mean(values, axis=axis))


def estimate_percentile(sample: Sequence[float], percent: float) -> Estimate:
    """Return a percentile of `sample` (linear interpolation) with its bootstrap interval."""
    return _estimate(sample, lambda values, axis: np.percentile(values, percent, axis=axis))


def _estimate(sample: Sequence[float], statistic: Callable[..., Any]) -> Estimate:
    """Bootstrap as SciPy does: 10,000 resamples, percentile intervals, a fixed seed.

    A sample of one value, or of equal values, has an interval of no width.
    """
    from scipy.stats import bootstrap

    values = np.asarray(sample, dtype=float)
    if not len(values):
        raise ValueError("an estimate needs at least one value")
    value = float(statistic(values, axis=0))
    if np.all(values == values[0]):
        return Estimate(value, value, value, len(values))
    interval = bootstrap(
        (values,),
        statistic,
        n_resamples=RESAMPLES,
        batch=1000,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), len(values))
