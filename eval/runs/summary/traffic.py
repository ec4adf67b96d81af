"""Estimates of a run's scores for the traffic that its queries were sampled from.

`assay traces sample` writes into the metadata of a query how often it was asked, and the stratum it
was drawn from.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.collections.collection import Query
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import Clusters
from assay.eval.statistics.sampling import estimate_weighted_mean

KEY = "traffic"
COUNTS = ("frequency", "members", "drawn", "searches", "of")


@dataclass(frozen=True, slots=True)
class TrafficEstimates:
    """Each measure as the mean over searches, with its interval.

    `searches` is the number of searches that the judged strata represent, `share` their share of
    all searches; `drawn` is the size of the sample, `judged` the number of its judged queries.
    """

    measures: Mapping[str, Estimate]
    searches: int
    share: float
    drawn: int
    judged: int

    @property
    def words(self) -> str:
        """The basis of the figures, in a sentence."""
        missing = f" {100 * (1 - self.share):.1f} % of it is in strata without a judgment."
        return (
            f"Weighted by how often queries are asked: an estimate for {self.searches:,} searches, "
            f"from {self.judged} judged of {self.drawn} sampled queries."
            + (missing if self.share < 1 else "")
        )


def estimate_traffic(
    queries: Mapping[str, Query],
    scores: Mapping[str, Mapping[str, float]],
    clusters: Clusters | None = None,
) -> TrafficEstimates | None:
    """Return estimates of `scores`, {measure: {query: score}}, for the traffic.

    It is None unless every query of a run records how it was sampled. The judged queries are
    assumed to be a random part of those drawn. `clusters` are the groups that they are drawn in,
    None for queries that are assumed to be independent.
    """
    told = [query.metadata.get(KEY) for query in queries.values()]
    drawn = [
        item
        for item in told
        if isinstance(item, Mapping)
        and all(isinstance(item.get(name), int) and item[name] > 0 for name in COUNTS)
        and "stratum" in item
    ]
    if not drawn or len(drawn) < len(told):
        return None
    strata = {str(item["stratum"]): item for item in drawn}
    names = list(strata)
    arguments = (
        [float(item["frequency"]) for item in drawn],
        [names.index(str(item["stratum"])) for item in drawn],
        [int(item["members"]) for item in strata.values()],
    )
    seen = sum(int(item["searches"]) for item in strata.values())
    return TrafficEstimates(
        measures={
            name: estimate_weighted_mean(
                [found[query] for query in queries], *arguments, find(name).within, clusters
            )
            for name, found in scores.items()
        },
        searches=seen,
        share=seen / int(drawn[0]["of"]),
        drawn=sum(int(item["drawn"]) for item in strata.values()),
        judged=len(drawn),
    )
