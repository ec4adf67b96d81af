"""Intervals of the mean of paired differences, of which few or none may have moved."""

import math

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import ANY, Estimate, Range
from assay.eval.statistics.significance import ALPHA, TIE, Values


def estimate_difference(
    differences: Values, largest: float, within: Range = ANY, level: float = ALPHA
) -> Estimate:
    """Return the mean of paired differences with its interval at confidence 1 - `level`.

    Two differences are added before the interval is computed: half a difference up, half a
    difference down and one of 0. For scores of 0 and 1 that is half a query more in each of the
    four cells (Agresti and Min, "Simple improved confidence intervals for comparing matched
    proportions", Statistics in Medicine 2005). For graded scores their size is the root mean square
    of the differences other than 0, with one of the `largest` possible size counted among them.
    Student's quantile takes the place of the normal one. `value` stays the mean of the differences
    given; the interval is cut to `within`, and holds `value`. Raises ValueError without a
    difference.

    >>> found = estimate_difference([0.0] * 20, 1.0)
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (-0.095, 0.0, 0.095)
    """
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if not n:
        raise ValueError("an estimate needs at least one value")
    mean = float(np.mean(values))
    if n == 1:
        return bound_single(mean, largest, within, n)
    from scipy.special import stdtrit

    middle, error = center(values, largest)
    half = float(stdtrit(n - 1, 1 - level / 2)) * error
    low, high = max(middle - half, within[0]), min(middle + half, within[1])
    return Estimate(mean, min(low, mean), max(high, mean), n)


def bound_single(mean: float, largest: float, within: Range, n: int) -> Estimate:
    """Return a mean of unknown variance: its interval is the whole range of possible values."""
    ends = within if np.all(np.isfinite(within)) else (mean - largest, mean + largest)
    return Estimate(mean, min(ends[0], mean), max(ends[1], mean), n)


def center(values: NDArray[np.float64], largest: float) -> tuple[float, float]:
    """Return the middle of the interval of `estimate_difference`, and its standard error."""
    squares = float(np.sum(values**2))
    moved = int(np.count_nonzero(np.abs(values) > TIE))
    size = (squares + largest**2) / (moved + 1)
    count = len(values) + 2
    middle = float(np.sum(values)) / count
    return middle, math.sqrt(max((squares + size) / count - middle**2, 0.0) / count)


def agree(estimate: Estimate, shown: bool) -> Estimate:
    """Return the interval so that it excludes 0 exactly where a test has `shown` a difference.

    Where the two disagree, the end that is nearer to 0 moves to it: just beyond it where a
    difference is shown, so that the interval says which sign it has and no more (Strassburger and
    Bretz, "Compatible simultaneous lower confidence bounds for the Holm procedure", Statistics in
    Medicine 2008), and onto it where none is. A shown `value` is not 0.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if not shown:
        return Estimate(value, min(low, 0.0), max(high, 0.0), estimate.n)
    if value > 0:
        return Estimate(value, min(max(low, TIE), value), high, estimate.n)
    return Estimate(value, low, max(min(high, -TIE), value), estimate.n)
