"""Measurements of the counts that stages leave in the trace of each query."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import SHARE
from assay.eval.statistics.groups import estimate_clustered_mean, estimate_clustered_ratio
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Unit
from assay.eval.studies.targets.measurement import BaseMeasurement, exact, tell_claim
from assay.eval.studies.targets.results import MeasuredValue
from assay.retrievers.base import AssayError


class TraceFlow(BaseMeasurement):
    """In how many queries a stage takes in another number of hits than the one before it gave."""

    usual_unit: ClassVar[Unit] = "count"
    type: Literal["flow"]

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return f"queries whose counts of hits do not add up, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the number of queries whose counts in the trace do not add up.

        The input count of each stage with counts must equal the output count of the one before it,
        and the output of the last must not be less than the length of the ranking.
        """
        run = lab.run(self.pipeline, self.dataset)
        wrong = stages = 0
        for ranking in run.rankings.values():
            told = [entry.counts for entry in ranking.trace if {"in", "out"} <= entry.counts.keys()]
            given = [*(counts["in"] for counts in told[1:]), len(ranking.hits)]
            outs = [counts["out"] for counts in told]
            stages = max(stages, len(told))
            wrong += outs[:-1] != given[:-1] or any(out < given[-1] for out in outs[-1:])
        if not stages:
            raise AssayError(f"{run.manifest.id}: no stage tells how many hits it took in and gave")
        number = len(run.rankings)
        return self.tell(exact(wrong, number), f"of {number} queries, {stages} stages", runs=[run])


class TraceMeasurement(BaseMeasurement):
    """A figure of the counts that a stage leaves in the trace of each query.

    share: of queries with a count above 0; max: the largest count; ratio: the sum of the counts
    over the sum of the counts `of`.
    """

    type: Literal["traced"]
    stage: str = Field(min_length=1, description="the stage's name in the trace")
    count: str = Field(min_length=1, description="the count's name there")
    figure: Literal["share", "max", "ratio"] = Field(description="what is made of the counts")
    of: str = Field("", description="the count below the line of a ratio")

    @model_validator(mode="after")
    def _ratio_has_two(self) -> "TraceMeasurement":
        if (self.figure == "ratio") != bool(self.of):
            raise ValueError("of: needed for the figure ratio, and for no other")
        return self

    @property
    def unit(self) -> Unit:
        """The unit of the value and the limits."""
        return "count" if self.figure == "max" else "share"

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        name = {
            "share": f"queries with {self.count} of {self.stage} above 0",
            "max": f"largest {self.count} of {self.stage}",
            "ratio": f"{self.count} / {self.of} of {self.stage}",
        }[self.figure]
        return f"{name}, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the figure over all queries."""
        run = lab.run(self.pipeline, self.dataset)
        counts = [_add_up(run, query, self.stage) for query in run.queries]
        for name in filter(None, (self.count, self.of)):
            if not any(name in of_query for of_query in counts):
                raise AssayError(f"{run.manifest.id}: {self.stage} leaves no count {name!r}")
        values = [of_query.get(self.count, 0) for of_query in counts]
        if self.figure == "max":
            return self.tell(exact(float(max(values)), len(values)), runs=[run])
        claims, note = Claims.of(run), ""
        clusters = claims.cluster(run.queries)
        if self.figure == "share":
            found = estimate_clustered_mean([value > 0 for value in values], clusters, SHARE)
        else:
            below = [of_query.get(self.of, 0) for of_query in counts]
            found = estimate_clustered_ratio(below, values, clusters)
            if not all(map(math.isfinite, (found.value, found.low, found.high))):
                raise AssayError(f"{run.manifest.id}: {self.of} is 0 in too many resamples")
            note = f"{sum(values)} of {sum(below)}"
        return self.tell(found, note, tell_claim(claims), runs=[run])


def _add_up(run: StoredRun, query: str, stage: str) -> Mapping[str, int]:
    """Return the counts of a stage in one query, added up if it occurs twice."""
    found: Counter[str] = Counter()
    for entry in run.rankings[query].trace:
        if entry.name == stage:
            found.update(entry.counts)
    return found
