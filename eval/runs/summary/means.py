"""Means of a measure over queries, with intervals that keep to the measure's range.

`clusters` are the groups that queries are drawn in (see `Claims.cluster`), None of queries that are
taken as independent.
"""

from collections.abc import Iterable

from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import Clusters, estimate_clustered_mean


def estimate_scores(
    measure: str, scores: Iterable[float], clusters: Clusters | None = None
) -> Estimate:
    """Return the mean of the scores of queries by a measure."""
    return estimate_clustered_mean(list(scores), clusters, find(measure).within)


def estimate_changes(
    measure: str, changes: Iterable[float], clusters: Clusters | None = None
) -> Estimate:
    """Return the mean of the differences of two scores of each query by a measure."""
    return estimate_clustered_mean(list(changes), clusters, find(measure).change)
