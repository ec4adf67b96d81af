"""Differences of paired samples: tests, effect sizes, power. Nothing here knows of retrieval."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED, TAIL

Values = Sequence[float] | NDArray[np.float64]
ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9_999
# What floating point leaves of a difference of equal scores.
TIE = 1e-9


def randomise(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of a mean difference of 0, by randomisation.

    Under the null hypothesis each difference might as well have the other sign (Fisher's paired
    randomisation test). SciPy's `permutation_test`: exact with up to 13 differences other than 0,
    else 9,999 random draws with a fixed seed.
    """
    from scipy.stats import permutation_test

    moved = [value for value in differences if abs(value) > TIE]
    if len(moved) < 2:
        return 1.0
    result = permutation_test(
        (moved,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=1000,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def can_reach(level: float, n: int) -> bool:
    """Return True if the randomisation of `n` differences can give a p-value of at most `level`.

    The smallest is that of n differences of one sign: 2 of the 2^n ways to choose signs.
    """
    return n > 0 and 2.0 ** (1 - n) <= level


def presumes_symmetry(differences: Values, largest: float) -> bool:
    """Return True if a mean difference rests on gains and losses being alike in size.

    The randomisation test presumes that each difference might as well have the other sign. Where
    a few cases lose the `largest` amount there can be and all others gain a little, a sample that
    happens to hold few of the losers gains on the whole, and the test takes that for a finding.
    So the sum of the differences is held against the losses (or gains, where it is below 0) that
    may be missing: the losses seen count as a number of largest ones, by the sum of their squares,
    and missing is how far the upper limit of that number, at .975 by the Poisson distribution
    (Garwood 1936), lies above it: 3.7 of none seen, 4.6 of one, 6.7 of five.
    """
    from scipy.special import gammaincinv

    values = np.asarray(differences, dtype=float) / largest
    total = float(values.sum())
    against = float(np.sum(np.minimum(values * np.sign(total), 0.0) ** 2))
    return abs(total) < float(gammaincinv(against + 1, 1 - TAIL)) - against


def spread(differences: Values) -> float | None:
    """Return the standard deviation (of n - 1) of differences; None for fewer than two."""
    if len(differences) < 2:
        return None
    deviation = float(np.std(differences, ddof=1))
    return deviation if deviation > TIE else 0.0


def standardise(differences: Values) -> float | None:
    """Return Cohen's d_z: the mean difference over the standard deviation of the differences.

    None where it is not defined: for one difference, and for equal ones other than 0.
    """
    deviation = spread(differences)
    if deviation:
        return float(np.mean(differences)) / deviation
    return 0.0 if np.all(np.abs(differences) <= TIE) else None


def detectable(deviation: float, n: int, power: float = POWER, alpha: float = ALPHA) -> float:
    """Return the smallest mean difference that `n` paired differences show with `power`.

    It is that of the two-sided paired t-test at level `alpha`, by the noncentral t distribution
    (Cohen 1988, Statistical Power Analysis, ch. 2; a finding in the wrong direction is not
    counted), in the unit of `deviation`, the standard deviation of the differences. `n` is at
    least 2.
    """
    return _find_shift(n, power, alpha) * deviation / math.sqrt(n)


def find_detectable(differences: Values, largest: float, level: float = ALPHA) -> float | None:
    """Return the smallest mean difference that as many cases with this variance show at power 0.8.

    It is `detectable` at `level`. If each difference is 0 or the `largest` possible one, as with
    scores of 0 and 1, or if fewer differ from 0 than can give a p-value of `level`, it is not less
    than what randomisation needs: that enough of them differ from 0. In a family of tests, `level`
    is that of each test (`max_t.FamilyTest`). It is None if the size cannot be determined: for
    fewer differences than that or than two, and for equal ones other than 0 and the largest.
    """
    n, deviation = len(differences), spread(differences)
    if deviation is None:
        return None
    sizes = np.abs(differences)
    whole = bool(np.all(np.minimum(sizes, np.abs(sizes - largest)) <= TIE))
    few = not can_reach(level, int(np.count_nonzero(sizes > TIE)))
    if not (whole or few) or largest <= TIE:
        return detectable(deviation, n, alpha=level) if deviation else None
    if not can_reach(level, n):
        return None
    least = next(moved for moved in range(n + 1) if can_reach(level, moved))
    return max(detectable(deviation, n, alpha=level), find_share(least, n) * largest)


def find_share(moved: int, n: int) -> float:
    """Return the share of moving cases of which `n` hold `moved` or more with power 0.8.

    By the binomial distribution. `moved` is from 1 to n.
    """
    from scipy.special import betaincinv

    return float(betaincinv(moved, n - moved + 1, POWER))


@lru_cache(maxsize=1000)
def _find_shift(n: int, power: float, alpha: float) -> float:
    """Return the noncentrality at which the paired t-test of `n` differences has `power`."""
    from scipy.special import nctdtr, stdtrit

    freedom = n - 1
    limit = float(stdtrit(freedom, 1 - alpha / 2))
    # Twice the limit and more is beyond any power asked for here, at any n. Halved by hand, since
    # importing scipy.optimize takes longer than all tests of a page.
    low, high = 0.0, 2 * limit + 5
    while low < (middle := (low + high) / 2) < high:
        if 1 - nctdtr(freedom, middle, limit) < power:
            low = middle
        else:
            high = middle
    return middle
