"""Effects of several studies as one: their mean, how far they differ, and a new study's effect."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import TAIL, Estimate

FEWEST = 3  # studies from which something can be foreseen of a new one
POINTS = 200  # of the distribution of the effects' variance
HALVINGS = 50
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RandomEffects:
    """Effects that vary from study to study around a mean.

    Attributes:
        mean: The mean effect with its 95 % interval.
        error: The standard error of the mean.
        tau: The standard deviation of the true effects.
        excess: The share of the effects' variance that chance within studies does not explain (I²
            of Higgins and Thompson 2002), from 0 to 1.
        p: The p-value of true effects that are all equal (Cochran's Q).

    """

    mean: Estimate
    error: float
    tau: float
    excess: float
    p: float


def combine_effects(effects: Sequence[float], variances: Sequence[float]) -> RandomEffects:
    """Return the mean of the effects of studies, each with the variance of its estimate.

    The variance of the true effects is that of Paule and Mandel (1982), the interval of the mean
    that of Hartung and Knapp (2001), which is never shorter than if it had not asked how far the
    effects differ (Röver, Knapp and Friede 2015).

    Args:
        effects: One for each study, in any unit.
        variances: Those of the estimates, in its square; above 0.

    Raises:
        ValueError: There are fewer than two studies, or a variance is not above 0.

    >>> found = combine_effects([0.1, 0.2, 0.0], [0.001, 0.002, 0.001])
    >>> round(found.mean.value, 3), round(found.tau, 3)
    (0.097, 0.092)

    """
    from scipy.special import chdtrc, stdtrit

    y, own = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    if len(y) < 2 or len(y) != len(own) or np.any(own <= 0):
        raise ValueError("two studies are needed, each with a variance above 0")
    freedom = len(y) - 1
    between = float(_find_variances(y, own, np.array([freedom]))[0])
    weights = 1 / (own + between)
    mean = float(np.sum(weights * y) / np.sum(weights))
    scale = max(float(_measure_spread(y, own, np.array([between]))[0]) / freedom, 1.0)
    error = math.sqrt(scale / float(np.sum(weights)))
    half = float(stdtrit(freedom, 1 - TAIL)) * error
    apart = float(_measure_spread(y, own, np.zeros(1))[0])
    return RandomEffects(
        Estimate(mean, mean - half, mean + half, len(y)),
        error,
        math.sqrt(between),
        max(0.0, 1 - freedom / apart) if apart > 0 else 0.0,
        float(chdtrc(freedom, apart)),
    )


def foresee_effect(
    effects: Sequence[float], variances: Sequence[float], new: float = 0.0
) -> Estimate | None:
    """Return the 95 % prediction interval of the effect of a new study; None for fewer than three.

    How far true effects vary is not known, and the interval allows for that (Nagashima, Noma and
    Furukawa 2019): it is of the mixture of the normal distributions of a new effect, over all
    variances of the true effects, each as likely as the sum of squares that it takes (Q-profile:
    Viechtbauer 2007). Its `value` is the mean effect.

    Args:
        effects: As in `combine_effects`.
        variances: Likewise.
        new: The variance of the new study's estimate; by default the interval is of the true
            effect.

    Raises:
        ValueError: As `combine_effects`.

    """
    from scipy.special import chdtri, ndtr

    mean = combine_effects(effects, variances).mean
    if mean.n < FEWEST:
        return None
    y, own = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    between = _find_variances(y, own, chdtri(mean.n - 1, (np.arange(POINTS) + 0.5) / POINTS))
    weights = 1 / (own + between[:, None])
    means = np.sum(weights * y, axis=1) / np.sum(weights, axis=1)
    spreads = np.sqrt(between + 1 / np.sum(weights, axis=1) + new)

    def find_end(share: float) -> float:
        low, high = float(np.min(means - 9 * spreads)), float(np.max(means + 9 * spreads))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = float(np.mean(ndtr((middle - means) / spreads))) < share
            low, high = (middle, high) if below else (low, middle)
        return high

    return Estimate(mean.value, find_end(TAIL), find_end(1 - TAIL), mean.n)


def _find_variances(effects: Floats, own: Floats, sums: Floats) -> Floats:
    """Return the variance of true effects with which Q is each of `sums`; 0 where it is less."""
    low = np.zeros(len(sums))
    high = np.sum((effects - effects.mean()) ** 2) / sums
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = _measure_spread(effects, own, middle) > sums
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where(_measure_spread(effects, own, np.zeros(1)) > sums, high, 0.0)


def _measure_spread(effects: Floats, own: Floats, between: Floats) -> Floats:
    """Return Cochran's Q: the sum of squares around the mean, for each variance of true effects."""
    weights = 1 / (own + between[:, None])
    means = np.sum(weights * effects, axis=1) / np.sum(weights, axis=1)
    return np.asarray(np.sum(weights * (effects - means[:, None]) ** 2, axis=1), dtype=float)
