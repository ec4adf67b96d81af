"""One run beside another, as the tests of a comparison found it."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.latency_pairs import LatencyPair


@dataclass(frozen=True)
class Pair:
    """One run beside another. `differences` are over all queries, `by_type` by type of query.

    `alone` holds, by measure, what p-value each of `differences` would have been adjusted to if
    these two runs were the only ones. `types_differ` is the p-value of types of query
    that all differ by the same amount, adjusted for all pairs; None where it is not tested.
    All these are of the claim that the comparison leads with; `opposite` is the headline by the
    other one. `design_effect` is how many times as large the headline's variance is as if no
    question shared a document.
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
        """The measures whose difference these two alone would have shown, and is not here."""
        return tuple(
            item.measure
            for item in self.differences
            if item.adjusted is not None and self.alone[item.measure] <= ALPHA < item.adjusted
        )

    @property
    def shown(self) -> tuple[Difference, ...]:
        """Every difference, those over all queries first."""
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
