"""The runs and pairs of a comparison, as its JSON has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.runs.json_form import in_json, shape
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.difference_bounds import DifferenceBounds
from assay.eval.runs.summary.summary import Summary
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.pair import Pair


@in_json(
    "label",
    run="summary.run.manifest.id",
    config="summary.run.manifest.name",
    degraded="summary.run.manifest.degraded",
    sampled="summary.run.manifest.sampled",
    beside="values_beside",
)
@dataclass(frozen=True)
class ComparedRun:
    """A run under its display name, with the measures compared and those shown with them."""

    summary: Summary
    label: str
    measures: Sequence[str]
    beside: Sequence[str]

    @property
    def means(self) -> dict[str, Estimate]:
        """The means of the measures."""
        return {name: self.summary.means[name] for name in self.measures}

    @property
    def values_beside(self) -> dict[str, float]:
        """The means of the measures shown with them, without intervals."""
        return {name: self.summary.means[name].value for name in self.beside}


@in_json(
    "conclusion",
    "bounds",
    claims=shape("by_claim", "p", "adjusted", "verdict"),
    design_effect="pair.design_effect",
    types_differ="pair.types_differ",
    differences="pair.differences",
    by_type="pair.by_type",
    alone="pair.alone",
    latency="pair.latency",
)
@dataclass(frozen=True)
class ComparedPair:
    """The differences of two runs, with their conclusion in words."""

    pair: Pair
    conclusion: str
    bounds: DifferenceBounds | None
    claims: Claims

    @property
    def by_claim(self) -> Mapping[str, Difference]:
        """The test of the headline measure by claim."""
        found = (self.pair.headline, self.pair.opposite)
        questions, documents = found if self.claims.leading == "questions" else found[::-1]
        return {"questions": questions, "documents": documents}
