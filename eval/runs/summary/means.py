"""Means over queries, with intervals within the range of the averaged values.

`clusters` are the groups that queries are drawn in (see `Claims.cluster`), None for queries that
are assumed to be independent.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from assay.eval.runs.json_form import KeyPath, shape
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import SHARE, Estimate
from assay.eval.statistics.groups import Clusters, estimate_clustered_mean

if TYPE_CHECKING:
    from assay.eval.runs.summary.claims import Claims


def estimate_scores(
    measure: str, scores: Iterable[float], clusters: Clusters | None = None
) -> Estimate:
    """Return the mean of the scores of queries by a measure."""
    return estimate_clustered_mean(list(scores), clusters, find(measure).within)


def estimate_means(
    scores: Mapping[str, Mapping[str, float]], claims: "Claims"
) -> dict[str, Estimate]:
    """Return the mean of each measure of `scores`, {measure: {query id: score}}."""
    return {
        name: estimate_scores(name, found.values(), claims.cluster(found))
        for name, found in scores.items()
    }


def estimate_changes(
    measure: str, changes: Iterable[float], clusters: Clusters | None = None
) -> Estimate:
    """Return the mean of the differences of two scores of each query by a measure."""
    return estimate_clustered_mean(list(changes), clusters, find(measure).change)


def find_largest(measure: str, differences: Sequence[float]) -> float:
    """Return the largest possible difference in a measure; if unbounded, the largest seen."""
    largest = find(measure).change[1]
    return largest if isfinite(largest) else max(map(abs, differences))


def average_shares(shares: Mapping[str, float], claims: "Claims") -> Estimate:
    """Return the mean of shares, or of truth values, by query id."""
    return estimate_clustered_mean([*shares.values()], claims.cluster(shares), SHARE)


def show_mean(names: str) -> KeyPath:
    """Return the path of a mean, or of means by name, in the form of the JSON of a run."""
    return shape(names, "low", "high", mean="value")
