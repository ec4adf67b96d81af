"""Samples of cases in groups: the groups are independent, the cases of one are not.

A group is numbered from 0, with a number for each case; `number_groups` makes the numbers. Where
every group has a single case, each function returns what is computed without groups.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import (
    ANY,
    SHARE,
    Estimate,
    Range,
    estimate_mean,
    estimate_mean_ratio,
    estimate_share,
)
from assay.eval.statistics.paired import bound_single, center, estimate_difference
from assay.eval.statistics.significance import ALPHA, TIE, Values

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]


# Of the differences of two pipelines within a document, where none are there to measure it by. In
# twelve comparisons of seven collections it was .03 to .45, .17 on average.
CORRELATION = 0.2


@dataclass(frozen=True)
class Clusters:
    """The number of each case's group, and the share these groups are of all there are."""

    numbers: Groups
    share: float = 0.0


def number_groups(keys: Sequence[Hashable]) -> Groups:
    """Return the number of each case's group, from 0 in the order in which groups appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def are_single(groups: Groups) -> bool:
    """Return True if no group has two cases."""
    return int(groups.max(initial=-1)) + 1 == len(groups)


def count_effective(groups: Groups) -> float:
    """Return the effective number of groups, of one size and the same weight: n² / Σ nᵢ².

    It is at most the number of groups, and near 1 where one of them holds nearly all cases.
    """
    sizes = np.bincount(groups)
    return float(len(groups) ** 2 / np.sum(sizes**2))


def find_design_effect(differences: Values, groups: Groups) -> float:
    """Return the ratio of the variance of the mean to that of independent cases.

    The variance by groups is CR2 (`estimate_grouped_difference`), that of independent cases s² / n.
    The ratio is 1.0 if nothing varies, and for a single group, which does not show it.
    """
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n < 2 or int(groups.max()) == 0 or are_single(groups):
        return 1.0
    alone = float(np.var(values, ddof=1)) / n
    sizes = np.bincount(groups)
    residuals = np.bincount(groups, values) - sizes * float(np.mean(values))
    together = float(np.sum(residuals**2 / (1 - sizes / n))) / n**2
    return together / alone if alone > TIE**2 else 1.0


def assume_design_effect(groups: Groups, correlation: float) -> float:
    """Return the design effect of cases that correlate by `correlation` within a group.

    It is that of Kish (1965, Survey Sampling, 5.4), with the mean size of the group of a case:
    1 + (Σ nᵢ² / n - 1) · correlation.
    """
    return 1 + (len(groups) / count_effective(groups) - 1) * correlation


def list_independent(differences: Floats, groups: Groups, share: float = 0.0) -> Floats:
    """Return rows that signs are drawn for independently, in place of rows of cases in groups.

    `differences` has the shape (cases, tests). The sum of the rows, each times its sign, then
    varies as the sum of the differences does. With a `share` of 0 they are the sums by group. Where
    the groups are a larger share of all that there are, only the rest of what groups have in common
    is left to chance (two-stage sampling: Cochran 1977, Sampling Techniques, 10.3): rows of groups
    count by the root of 1 - share, and the rows of their cases are added, by the root of share. A
    group of a single case stays as it is: what its cases have in common is not known.
    """
    if share <= 0:
        return _sum(differences, groups)
    if share >= 1:
        return differences
    sizes = np.bincount(groups)
    several = sizes > 1
    scale = np.where(several, math.sqrt(1 - share), 1.0)
    cases = differences[several[groups]] * math.sqrt(share)
    return np.concatenate([_sum(differences, groups) * scale[:, None], cases])


def draw_weights(
    signs: NDArray[np.float32], groups: Groups, share: float = 0.0
) -> NDArray[np.float32]:
    """Return the weights of cases, of shape (cases, draws), that independent `signs` make.

    As in `list_independent`: of groups alone, or with a `share` of groups first and then of the
    cases, `count_signs` in all.
    """
    number = int(groups.max()) + 1
    if share <= 0:
        return signs[groups]
    common = np.where(np.bincount(groups) > 1, 1 - share, 1.0)[groups, None]
    weights = np.sqrt(common) * signs[:number][groups] + np.sqrt(1 - common) * signs[number:]
    return np.asarray(weights, dtype=np.float32)


def count_signs(groups: Groups, share: float = 0.0) -> int:
    """Return the number of signs that `draw_weights` takes."""
    return int(groups.max()) + 1 + (len(groups) if share > 0 else 0)


def spread_over_groups(differences: Values, groups: Groups) -> Floats:
    """Return a value for each group, whose mean is that of the differences, and varies as it does.

    They are the linearised values of a ratio of sums over groups (Cochran 1977, 6.4): what holds of
    independent differences, such as their power, holds of these.
    """
    values = np.asarray(differences, dtype=float)
    if are_single(groups):
        return values
    sizes, mean = np.bincount(groups), float(np.mean(values))
    sums = np.bincount(groups, values)
    return np.asarray(mean + (sums - sizes * mean) * len(sizes) / len(values), dtype=float)


def estimate_grouped_difference(
    differences: Values,
    groups: Groups,
    largest: float,
    within: Range = ANY,
    level: float = ALPHA,
    share: float = 0.0,
) -> Estimate:
    """Return the mean of paired differences in groups, with its interval at 1 - `level`.

    The standard error is CR2 (Bell and McCaffrey 2002), Student's quantile has Satterthwaite's
    degrees of freedom for cases that correlate within groups as these do (Imbens and Kolesár,
    "Robust standard errors in small samples", Review of Economics and Statistics 2016). As in
    `estimate_difference` two groups are added of which half a group moves up and half a group
    down; each has as many cases as the group of a case has on average, and moves as far as the
    groups do.

    Args:
        differences: The differences of all cases.
        groups: The number of the group of each case.
        largest: The largest size that a difference can have.
        within: The range that the interval is cut to.
        level: The chance that the interval does not hold the mean.
        share: The share of these groups among all that exist: the variance is `1 - share` times
            that by groups and `share` times that by cases (see `list_independent`).

    Returns:
        The mean of the differences; the interval holds it.

    Raises:
        ValueError: There is no difference.

    >>> estimate = estimate_grouped_difference([0.2, 0.1, 0.0, 0.1], np.array([0, 0, 1, 2]), 1.0)
    >>> round(estimate.low, 3), round(estimate.value, 3), round(estimate.high, 3)
    (-0.6, 0.1, 0.714)

    """
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if not n or are_single(groups) or share >= 1:
        return estimate_difference(values, largest, within, level)
    sizes, mean = np.bincount(groups), float(np.mean(values))
    if len(sizes) == 1:
        return bound_single(mean, largest, within, n)
    from scipy.special import stdtrit

    sums = np.asarray(np.bincount(groups, values), dtype=float)
    typical = n / count_effective(groups)
    size = _find_size(values, sums, typical, largest)
    count = n + 2 * typical
    middle = float(np.sum(sums)) / count
    residuals = (sums - sizes * middle) ** 2 * (1 - 1 / n) / (1 - sizes / n)
    added = typical**2 * (size + 2 * middle**2)
    parts = [(1 - share) * (float(np.sum(residuals)) + added) / count**2]
    freedoms = [_find_freedom(values, groups)]
    if share > 0:
        parts.append(share * center(values, largest)[1] ** 2)
        freedoms.append(n - 1)
    variance = sum(parts)
    spread = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    half = float(stdtrit(variance**2 / spread, 1 - level / 2)) * math.sqrt(variance)
    low, high = max(middle - half, within[0]), min(middle + half, within[1])
    return Estimate(mean, min(low, mean), max(high, mean), n)


def estimate_clustered_mean(
    sample: Sequence[float], clusters: Clusters | None, within: Range = ANY
) -> Estimate:
    """Return the mean of cases in groups with its interval, cut to `within`.

    That is `estimate_mean` without groups, or with a single case in each. Else it is by CR2 with
    Satterthwaite's degrees of freedom, as in `estimate_grouped_difference` without what is added
    there, and holds that of independent cases. A share of values that are all 0 or 1 has the
    interval of Clopper and Pearson for as many cases as count (Korn and Graubard, "Confidence
    intervals for proportions with small expected number of positive counts", Survey Methodology
    1998); of equal values, whose design effect cannot be measured, that for a correlation of .2.
    """
    plain = estimate_mean(sample, within)
    if clusters is None or are_single(clusters.numbers) or clusters.share >= 1:
        return plain
    from scipy.special import stdtrit

    values, groups = np.asarray(sample, dtype=float), clusters.numbers
    n, share = len(values), clusters.share
    binary = within == SHARE and bool(np.all((values == 0) | (values == 1)))
    if int(groups.max()) == 0:
        return bound_single(plain.value, float(np.max(np.abs(values))), within, n)
    if np.all(values == values[0]):
        effect = share + (1 - share) * assume_design_effect(groups, CORRELATION)
        return _estimate_binary(plain, n / effect) if binary else plain
    alone = float(np.var(values, ddof=1)) / n
    parts = (1 - share) * find_design_effect(values, groups) * alone, share * alone
    variance = sum(parts)
    spread = parts[0] ** 2 / _find_freedom(values, groups) + parts[1] ** 2 / (n - 1)
    quantile = float(stdtrit(variance**2 / spread, 1 - ALPHA / 2)) if spread > 0 else 0.0
    if binary:
        narrower = float(stdtrit(n - 1, 1 - ALPHA / 2)) / quantile if quantile else 1.0
        return _estimate_binary(plain, n * min(1.0, alone / max(variance, TIE**2) * narrower**2))
    half = quantile * math.sqrt(variance)
    low, high = max(plain.value - half, within[0]), min(plain.value + half, within[1])
    return Estimate(plain.value, min(low, plain.low), max(high, plain.high), n)


def bound_sums(away: Floats, weights: Floats, groups: Groups) -> float:
    """Return the half width of the interval of a weighted mean, by sums over groups.

    `away` is by how much each case moves the mean from its expected value, `weights` sum to 1. The
    variance is CR2 for independent cases; Student's quantile has one degree of freedom less than
    the effective number of groups. Infinite where one group has all the weight.
    """
    shares = np.bincount(groups, weights)
    if shares.max() > 1 - TIE:
        return math.inf
    from scipy.special import stdtrit

    variance = float(np.sum(np.bincount(groups, away) ** 2 / (1 - shares)))
    freedom = max(1 / float(np.sum(shares**2)) - 1, 0.5)
    return float(stdtrit(freedom, 1 - ALPHA / 2)) * math.sqrt(variance)


def estimate_clustered_ratio(
    base: Sequence[float], other: Sequence[float], clusters: Clusters | None
) -> Estimate:
    """Return the mean of `other` over that of `base` with its bootstrap interval.

    That is `estimate_mean_ratio` without groups. With them whole groups are drawn, as if they were
    a small share of all, and the interval holds that of independent cases.
    """
    plain = estimate_mean_ratio(base, other)
    if clusters is None or are_single(clusters.numbers) or clusters.share >= 1:
        return plain
    found = estimate_mean_ratio(
        np.bincount(clusters.numbers, base).tolist(), np.bincount(clusters.numbers, other).tolist()
    )
    low, high = min(plain.low, found.low), max(plain.high, found.high)
    return Estimate(plain.value, low, high, plain.n)


def _estimate_binary(plain: Estimate, size: float) -> Estimate:
    """Return a share with the interval of `size` independent cases."""
    found = estimate_share(plain.value * size, size)
    low, high = min(found.low, plain.low), max(found.high, plain.high)
    return Estimate(plain.value, low, high, plain.n)


def _find_size(values: Floats, sums: Floats, typical: float, largest: float) -> float:
    """Return the mean square of the change per case of a group with `typical` cases.

    It is that of the groups that changed and of one more: its cases change by the `largest` size,
    and cancel out as the others' do, unless no group changed.
    """
    squares = (sums / typical) ** 2
    moved = int(np.count_nonzero(np.abs(sums) > TIE))
    kept = float(np.mean(squares)) / float(np.mean(values**2)) if moved else 1.0
    return (float(np.sum(squares)) + kept * largest**2) / (moved + 1)


def _sum(differences: Floats, groups: Groups) -> Floats:
    """Return the sums by group, of shape (groups, tests)."""
    sums = np.zeros((int(groups.max()) + 1 if len(groups) else 0, differences.shape[1]))
    np.add.at(sums, groups, differences)
    return sums


def _find_freedom(values: Floats, groups: Groups) -> float:
    """Return Satterthwaite's degrees of freedom of the CR2 variance of the mean.

    The variance is a sum of squares over groups; its degrees of freedom follow from how these
    covary where cases have equal variances and one correlation within groups (Imbens and Kolesár
    2016). With groups of one size that is one less than there are groups.
    """
    sizes = np.bincount(groups).astype(float)
    shares = sizes / len(values)
    correlation = _find_correlation(values, groups)
    sums = sizes * (1 + (sizes - 1) * correlation)  # the variance of each group's sum
    # Residuals covary by -pᵢsⱼ - pⱼsᵢ + pᵢpⱼS, and on the diagonal by sᵢ more; each is scaled. The
    # squares add up without a matrix, which many groups would make large.
    scale, whole = 1 / (1 - shares), float(np.sum(sums))
    shared = shares * (shares * whole - 2 * sums)
    ss, pp, ps = (
        float(np.sum(scale * one * other))
        for one, other in ((sums, sums), (shares, shares), (shares, sums))
    )
    squares = 2 * pp * ss + pp**2 * whole**2 + 2 * ps**2 - 4 * pp * ps * whole
    squares += float(np.sum(scale**2 * sums * (sums + 2 * shared)))
    return float(np.sum(scale * (sums + shared)) ** 2 / squares)


def _find_correlation(values: Floats, groups: Groups) -> float:
    """Return the correlation of cases within groups, by analysis of variance, from 0 to 1."""
    sizes = np.bincount(groups)
    n, number = len(values), len(sizes)
    means = np.bincount(groups, values) / sizes
    between = float(np.sum(sizes * (means - np.mean(values)) ** 2)) / (number - 1)
    if n == number:
        return 0.0
    inside = float(np.sum((values - means[groups]) ** 2)) / (n - number)
    typical = (n - float(np.sum(sizes**2)) / n) / (number - 1)
    common = max((between - inside) / typical, 0.0)
    return common / (common + inside) if common > 0 else 0.0
