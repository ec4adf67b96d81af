"""ROC curves: the ability of a score to separate two kinds of cases. Plain numbers only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import CONFIDENCE, RESAMPLES, SEED, Estimate

RESAMPLES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Point:
    """A threshold with the shares of the positive and of the negative cases that lie below it."""

    threshold: float
    positives_below: float
    negatives_below: float


def estimate_auc(positives: Sequence[float], negatives: Sequence[float]) -> Estimate:
    """Return the area under the ROC curve with its percentile-bootstrap interval.

    It is the chance that a positive case scores above a negative one, equal scores counted half:
    the statistic of Mann and Whitney over its maximum (Hanley and McNeil, Radiology 1982). Neither
    kind of case may be empty.

    Both kinds of cases are resampled, each by itself. `n` counts all of them.
    """
    above = _compare(positives, negatives)
    value = float(above.mean())
    if np.all(above == value):
        return Estimate(value, value, value, sum(above.shape))
    generator = np.random.default_rng(SEED)
    rows, columns = above.shape
    drawn = [
        np.sum((_draw(generator, rows) @ above) * _draw(generator, columns), axis=1)
        for _ in range(RESAMPLES // RESAMPLES_AT_ONCE)
    ]
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(np.concatenate(drawn), [tail, 100 - tail])
    return Estimate(value, float(low), float(high), rows + columns)


def trace_curve(positives: Sequence[float], negatives: Sequence[float]) -> list[Point]:
    """Return the points of the ROC curve, from a threshold below every score to one above all.

    In the usual words `positives_below` is 1 - sensitivity and `negatives_below` the specificity.
    """
    ordered = [np.sort(np.asarray(scores, dtype=float)) for scores in (positives, negatives)]
    thresholds = [*np.unique(np.concatenate(ordered)).tolist(), np.inf]
    shares = [np.searchsorted(scores, thresholds, side="left") / len(scores) for scores in ordered]
    return [
        Point(*values) for values in zip(thresholds, *(i.tolist() for i in shares), strict=True)
    ]


def fit_threshold(positives: Sequence[float], share: float) -> float:
    """Return the highest threshold below which at most `share` of the positive cases lie.

    It is one of their scores: the quantile of Neyman and Pearson's rule, which knows no negatives.
    `share` is at least 0 and below 1.
    """
    return float(np.sort(np.asarray(positives, dtype=float))[int(share * len(positives) + 1e-9)])


def _compare(positives: Sequence[float], negatives: Sequence[float]) -> NDArray[np.float64]:
    """Return 1, ½ or 0 for each pair, of shape (positives, negatives)."""
    one = np.asarray(positives, dtype=float)[:, None]
    other = np.asarray(negatives, dtype=float)[None, :]
    return np.where(one == other, 0.5, (one > other).astype(float))


def _draw(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return the share of each of `n` cases in each resample, of shape (resamples, cases)."""
    drawn = generator.integers(n, size=(RESAMPLES_AT_ONCE, n))
    drawn += n * np.arange(RESAMPLES_AT_ONCE)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES_AT_ONCE * n)
    return counts.reshape(RESAMPLES_AT_ONCE, n) / n
