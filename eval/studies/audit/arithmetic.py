"""Inference on a difference from two means and the number of queries alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import detectable

MOST_QUERIES = 1_000_000


@dataclass(frozen=True)
class Reading:
    """The paired t-test of the difference if the differences of single queries have the SD `sd`.

    Attributes:
        sd: The standard deviation of the differences of single queries.
        difference: The mean difference, with the interval at the requested level.
        p: The two-sided p-value.
        detectable: The smallest difference that this number of queries shows with power 0.8.
        needed: The number of queries that would show this difference with power 0.8; None if that
            is beyond a million.

    """

    sd: float
    difference: Estimate
    p: float
    detectable: float
    needed: int | None


def read_difference(difference: float, sd: float, n: int, level: float) -> Reading:
    """Return the paired t-test of a mean difference of `n` pairs with SD `sd` > 0."""
    from scipy.special import stdtr, stdtrit

    error = sd / math.sqrt(n)
    half = float(stdtrit(n - 1, 1 - level / 2)) * error
    p = float(2 * stdtr(n - 1, -abs(difference) / error))
    estimate = Estimate(difference, difference - half, difference + half, n)
    needed = find_needed(abs(difference), sd, level)
    return Reading(sd, estimate, p, detectable(sd, n, alpha=level), needed)


def find_needed(difference: float, sd: float, level: float) -> int | None:
    """Return the fewest queries that show a difference with power 0.8; None if over a million."""
    low, high = 2, 4
    while detectable(sd, high, alpha=level) > difference:
        low, high = high, 2 * high
        if low > MOST_QUERIES:
            return None
    while low < high:
        middle = (low + high) // 2
        if detectable(sd, middle, alpha=level) > difference:
            low = middle + 1
        else:
            high = middle
    return low


def limit_sd(base: float, new: float, n: int) -> tuple[float, float]:
    """Return the least and the largest standard deviation of differences of scores from 0 to 1.

    It is 0 if every query changed by the same amount. It is largest if all scores are 0 or 1 and as
    many queries changed as the means allow: E(d²) is then the share that changed.
    """
    changed = min(base + new, 2 - base - new)
    return 0.0, math.sqrt(max(changed - (new - base) ** 2, 0.0) * n / (n - 1))


def find_shown_below(difference: float, n: int, level: float) -> float:
    """Return the SD below which the paired t-test shows a mean difference of `n` pairs."""
    from scipy.special import stdtrit

    return abs(difference) * math.sqrt(n) / float(stdtrit(n - 1, 1 - level / 2))


def list_sign_tests(base: int, new: int, n: int) -> Iterator[tuple[int, float]]:
    """Yield each possible number of changed queries of `n`, fewest first, with its exact p-value.

    `base` and `new` are the numbers of hits. The p-value is McNemar's by the binomial distribution,
    two-sided.
    """
    from scipy.special import bdtr

    fewest, most = abs(new - base), min(base + new, 2 * n - base - new)
    for changed in range(fewest, most + 1, 2):
        against = (changed - fewest) // 2  # queries that changed in the less common direction
        yield changed, min(1.0, 2 * float(bdtr(against, changed, 0.5)))
