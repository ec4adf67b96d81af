"""Estimates for a finite population from a stratified sample of it."""

import math
from collections.abc import Sequence

import numpy as np

from assay.eval.statistics.estimates import ANY, SHARE, TAIL, Estimate, Range, estimate_share
from assay.eval.statistics.groups import Clusters, are_single, bound_sums


def estimate_weighted_mean(
    sample: Sequence[float],
    sizes: Sequence[float],
    strata: Sequence[int],
    members: Sequence[int],
    within: Range = ANY,
    clusters: Clusters | None = None,
) -> Estimate:
    """Return the mean of a population whose units count by their sizes, with its interval.

    Units were drawn with equal chances and without replacement in each stratum: `strata` numbers,
    from 0, that of each value, and `members` says how many units it has. It is Hájek's estimate,
    sum of w·y by sum of w with w = size / chance, with the linearised variance of a stratified
    sample (Särndal, Swensson and Wretman 1992, 5.6 and 5.7) and Satterthwaite's degrees of freedom.
    A stratum with a single value is put to the one before it, which makes the interval longer.
    A share of values that are 0 or 1 has Korn and Graubard's interval (1998): that of Clopper and
    Pearson at the effective size, over the strata that were not drawn whole. That size is at most
    Kish's, as strata of equal values do not prove that others of theirs are equal too. Other equal
    values have an interval of no width. Strata without a value are no part of it.

    With `clusters` whose units are not independent, across strata, the interval also holds what
    the variance of their sums makes it (`groups.bound_sums`).
    """
    plain = _estimate_stratified(sample, sizes, strata, members, within)
    if clusters is None or are_single(clusters.numbers) or plain.low == plain.high:
        return plain
    drawn = np.bincount(np.asarray(strata), minlength=len(members))
    weights = np.asarray(sizes, dtype=float) * (np.asarray(members) / np.maximum(drawn, 1))[strata]
    weights /= float(np.sum(weights))
    away = weights * (np.asarray(sample, dtype=float) - plain.value)
    half = bound_sums(away, weights, clusters.numbers)
    low, high = max(plain.value - half, within[0]), min(plain.value + half, within[1])
    return Estimate(plain.value, min(low, plain.low), max(high, plain.high), plain.n)


def _estimate_stratified(
    sample: Sequence[float],
    sizes: Sequence[float],
    strata: Sequence[int],
    members: Sequence[int],
    within: Range,
) -> Estimate:
    """Return the mean with its interval, of units that are independent within strata."""
    y, size = np.asarray(sample, dtype=float), np.asarray(sizes, dtype=float)
    n = len(y)
    if not n:
        raise ValueError("an estimate needs at least one value")
    stratum = np.asarray(strata)
    drawn = np.bincount(stratum, minlength=len(members))
    weights = size * np.asarray(members)[stratum] / drawn[stratum]
    total = float(np.sum(weights))
    mean = float(np.sum(weights * y)) / total
    census = all(count in (0, of) for count, of in zip(drawn, members, strict=True))
    if census:
        return Estimate(mean, mean, mean, n)
    if within == SHARE and np.all((y == 0) | (y == 1)):
        open_ = drawn[stratum] < np.asarray(members)[stratum]
        share = float(np.sum(weights[open_])) / total
        bound = _bound_share(y, np.where(open_, weights, 0) / total / share, stratum, members)
        known = mean - share * bound.value
        return Estimate(mean, known + share * bound.low, known + share * bound.high, n)
    if np.all(y == y[0]):
        wide = n == 1 and np.all(np.isfinite(within))
        return Estimate(mean, *(within if wide else (mean, mean)), n)
    parts = _find_parts(stratum, members, size * (y - mean) / total)
    variance = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    if not spread:
        return Estimate(mean, *(within if np.all(np.isfinite(within)) else (mean, mean)), n)
    from scipy.special import stdtrit

    half = float(stdtrit(variance**2 / spread, 1 - TAIL)) * math.sqrt(variance)
    return Estimate(mean, max(mean - half, within[0]), min(mean + half, within[1]), n)


def _bound_share(
    y: np.ndarray, weights: np.ndarray, strata: np.ndarray, members: Sequence[int]
) -> Estimate:
    """Return Korn and Graubard's interval of values that are 0 or 1; `weights` sum to 1."""
    share = min(float(np.sum(weights * y)), 1.0)
    drawn = np.bincount(strata, minlength=len(members))
    residuals = weights * (y - share) * (drawn / np.asarray(members))[strata]
    variance = sum(part for part, _ in _find_parts(strata, members, residuals))
    size = 1 / float(np.sum(weights**2))
    if variance:
        size = min(size, share * (1 - share) / variance)
    return estimate_share(share * size, size)


def _find_parts(
    stratum: np.ndarray, members: Sequence[int], residuals: np.ndarray
) -> list[tuple[float, int]]:
    """Return variance and degrees of freedom of every stratum, or group of such, that adds any."""
    groups: list[tuple[int, np.ndarray]] = []
    for number, of in enumerate(members):
        values = residuals[stratum == number]
        if not len(values) or len(values) == of:
            continue
        if groups and (len(values) == 1 or len(groups[-1][1]) == 1):
            before, others = groups.pop()
            of, values = before + of, np.concatenate([others, values])
        groups.append((of, values))
    if len(groups) > 1 and len(groups[-1][1]) == 1:
        last, values = groups.pop()
        before, others = groups.pop()
        groups.append((before + last, np.concatenate([others, values])))
    return [
        (of * (of - n) * float(np.var(values, ddof=1)) / n, n - 1)
        for of, values in groups
        if (n := len(values)) > 1 and np.any(values != values[0])
    ]
