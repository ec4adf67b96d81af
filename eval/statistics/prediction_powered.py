"""Means of few true values and many predicted ones (Angelopoulos et al. 2023)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.eval.statistics.estimates import ANY, TAIL, Estimate, Range
from assay.eval.statistics.groups import Clusters, are_single, bound_sums


@dataclass(frozen=True, slots=True)
class PoweredEstimate(Estimate):
    """A mean with its interval. `n` cases have a true value; `predicted` others only a predicted
    one. `weight` is λ: 0 leaves the predictions out, 1 takes them at their word.
    """

    predicted: int
    weight: float


def estimate_powered_mean(
    true: Sequence[float],
    guessed: Sequence[float],
    others: Sequence[float],
    within: Range = ANY,
    clusters: Clusters | None = None,
) -> PoweredEstimate:
    """Return the mean of `true` over all cases, with its interval cut to `within`.

    `guessed` are the predictions of the same cases, `others` those of cases without a true value.
    The cases of both must be drawn from the same population, by chance; then the interval holds
    however wrong the predictions are. The estimate is

        mean(true) + λ (mean(others) - mean(guessed))

    with the λ, from 0 to 1, of the least variance (Angelopoulos, Duchi, Zrnic, "PPI++: Efficient
    prediction-powered inference", 2023, example 6.1), and its variance is that of the two
    independent sums, var(true - λ guessed) / n + λ² var(others) / N. For few cases, Student's
    distribution of n - 1 degrees takes the place of the normal one. Raises ValueError for fewer
    than two true values, without others, and where `true` and `guessed` differ in length.

    `clusters` are the groups of the cases with a true value and then of the others, where those of
    a group are not independent: the variance is also that of sums by group, and the larger counts.
    """
    y, f, rest = (np.asarray(values, dtype=float) for values in (true, guessed, others))
    n, more = len(y), len(rest)
    if n < 2 or not more or len(f) != n:
        raise ValueError("two cases with both values are needed, and one without the true one")
    from scipy.special import stdtrit

    spread = float(np.var(np.concatenate([f, rest]), ddof=1))
    together = float(np.cov(y, f, ddof=1)[0, 1])
    weight = min(max(together / ((1 + n / more) * spread), 0.0), 1.0) if spread > 0 else 0.0
    mean = float(y.mean() + weight * (rest.mean() - f.mean()))
    variance = float(np.var(y - weight * f, ddof=1)) / n + weight**2 * spread / more
    half = float(stdtrit(n - 1, 1 - TAIL)) * math.sqrt(variance)
    if clusters is not None and not are_single(clusters.numbers):
        away = y - weight * f
        moves = [(away - away.mean()) / n, weight * (rest - rest.mean()) / more]
        parts = np.repeat([1 / n, 0.0], [n, more])  # the true cases are what there is least of
        half = max(half, bound_sums(np.concatenate(moves), parts, clusters.numbers))
    low, high = max(mean - half, within[0]), min(mean + half, within[1])
    return PoweredEstimate(mean, low, high, n, more, weight)
