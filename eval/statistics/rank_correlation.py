"""Rank correlation: the degree to which two sets of scores order the same things alike."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED, TAIL, Estimate
from assay.eval.statistics.significance import TIE

RESAMPLES = 2_000
Floats = NDArray[np.float64]


def estimate_tau(one: Floats, other: Floats) -> Estimate | None:
    """Return Kendall's τ-b of two orders of things by their mean scores, with its interval.

    `one` and `other` are scores of the same things (columns) in the same cases (rows). Cases are
    resampled, for both together: percentile bootstrap, 2,000 resamples, a fixed seed. Resamples in
    which a side ties all things are left out. None where all tie, or there are fewer than two
    things. Raises ValueError for different shapes, or no case.
    """
    if one.shape != other.shape or not len(one):
        raise ValueError("both need scores of the same things in the same cases, one at least")
    n = len(one)
    found = correlate(one.mean(axis=0)[None], other.mean(axis=0)[None])[0]
    if np.isnan(found):
        return None
    weights = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), RESAMPLES) / n
    drawn = correlate(weights @ one, weights @ other)
    low, high = np.quantile(drawn[~np.isnan(drawn)], (TAIL, 1 - TAIL))
    return Estimate(float(found), float(low), float(high), n)


def correlate(one: Floats, other: Floats) -> Floats:
    """Return τ-b (Kendall 1945) of each row of `one` with that of `other`; NaN where all tie."""
    first, second = np.triu_indices(one.shape[1], k=1)
    signs = []
    for values in (one, other):
        gaps = values[:, first] - values[:, second]
        signs.append(np.where(np.abs(gaps) > TIE, np.sign(gaps), 0.0))
    both = (signs[0] * signs[1]).sum(axis=1)
    untied = np.sqrt(np.abs(signs[0]).sum(axis=1) * np.abs(signs[1]).sum(axis=1))
    found: Floats = np.divide(both, untied, out=np.full(len(one), np.nan), where=untied > 0)
    return found


def cross_tabulate(pairs: Sequence[tuple[int, int]], highest: int) -> list[list[int]]:
    """Return the confusion matrix of pairs of grades.

    It has a row for each first grade and a column for each second grade, from 0 to `highest`.
    """
    table = [[0] * (highest + 1) for _ in range(highest + 1)]
    for first, second in pairs:
        table[first][second] += 1
    return table
