"""A pair of runs with the results of the tests of a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.latency_pairs import LatencyPair


@dataclass(frozen=True)
class Pair:
    """Two runs and the differences between them.

    All differences and p-values but `opposite` are by the leading claim of the comparison.

    Attributes:
        base: The run that the other is compared with.
        other: The other run.
        differences: The differences over all queries.
        by_type: The differences by type of query.
        latency: The percentiles of latency.
        alone: By measure, the p-value of each of `differences`, adjusted as if only these two runs
            were compared.
        types_differ: The p-value of the test that all types of query differ by the same amount,
            adjusted for all pairs; None if it is not tested.
        opposite: The difference of the headline measure by the other claim.
        design_effect: The variance of the headline's difference divided by that if no questions
            shared a document.

    """

    base: Summary
    other: Summary
    differences: tuple[Difference, ...]
    by_type: tuple[Difference, ...]
    latency: tuple[LatencyPair, ...]
    alone: Mapping[str, float]
    types_differ: float | None
    opposite: Difference
    design_effect: float

    @property
    def effective_queries(self) -> float:
        """The number of independent questions that the headline's difference rests on."""
        return self.headline.n / max(self.design_effect, 1.0)

    @property
    def unshown(self) -> tuple[str, ...]:
        """The measures significant if only these two were compared, but not after adjustment."""
        return tuple(
            item.measure
            for item in self.differences
            if item.adjusted is not None and self.alone[item.measure] <= ALPHA < item.adjusted
        )

    @property
    def shown(self) -> tuple[Difference, ...]:
        """All differences, those over all queries first."""
        return (*self.differences, *self.by_type)

    @property
    def headline(self) -> Difference:
        """The difference by which the run is called better or worse."""
        by_measure = {item.measure: item for item in self.differences}
        return by_measure[choose_headline(by_measure)]

    def scores(self, measure: str) -> Mapping[str, tuple[float, float]]:
        """Return {query id: (score in the base, score in the other)}."""
        base, other = self.base.scores[measure], self.other.scores[measure]
        return {query: (score, other[query]) for query, score in base.items()}
