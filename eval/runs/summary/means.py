"""Means of a measure over queries, with intervals that keep to the measure's range."""

from collections.abc import Iterable

from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate, estimate_mean


def estimate_scores(measure: str, scores: Iterable[float]) -> Estimate:
    """Return the mean of the scores of queries by a measure."""
    return estimate_mean(list(scores), find(measure).within)


def estimate_changes(measure: str, changes: Iterable[float]) -> Estimate:
    """Return the mean of the differences of two scores of each query by a measure."""
    return estimate_mean(list(changes), find(measure).change)
