"""Measurements of the milliseconds of searches."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from assay.eval.runs.latency import TOTAL, LatencySample
from assay.eval.runs.summary.summary import explain_open
from assay.eval.statistics.estimates import (
    OpenEstimate,
    estimate_percentile,
    estimate_percentile_ratio,
)
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Unit
from assay.eval.studies.targets.measurement import BaseMeasurement, PairedMeasurement
from assay.eval.studies.targets.results import MeasuredValue
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest


class TimedMeasurement(BaseMeasurement):
    """A measurement of milliseconds."""

    usual_unit: ClassVar[Unit] = "ms"
    percentile: float = Field(95, gt=0, lt=100, description="which percentile over the queries")

    def warn(self, found: OpenEstimate) -> str:
        """Return a warning if the queries are too few for an upper bound; else ""."""
        return explain_open({f"p{self.percentile:g}": found})


class Latency(TimedMeasurement):
    """A percentile of the milliseconds of a search, or of some of its stages together.

    With `chunks` the collection is grown to that number; else the times are of a stored run.
    """

    type: Literal["latency"]
    stages: list[str] = Field(
        default_factory=list, description="names in the trace, added up; none: the whole search"
    )
    chunks: int | None = Field(None, ge=1, description="grow the collection to so many chunks")

    @property
    def experiment(self) -> bool:
        """True if the measurement needs more than stored runs."""
        return self.chunks is not None

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        what = " + ".join(self.stages) or "search"
        grown = f" grown to {self.chunks:,} chunks" if self.chunks else ""
        return f"p{self.percentile:g} of {what}, {self.pipeline} on {self.dataset}{grown}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the percentile of the summed times of the stages."""
        runs = [] if self.chunks else [lab.run(self.pipeline, self.dataset)]
        times = _by_stage(
            lab.time_grown(self.pipeline, self.dataset, self.chunks)
            if self.chunks
            else runs[0].latency
        )
        if unknown := [name for name in self.stages if name not in times]:
            near = suggest(unknown[0], times)
            raise AssayError(f"{unknown[0]}: no such stage; there are: {', '.join(times)}{near}")
        parts = [times[name] for name in self.stages or [TOTAL]]
        together = [sum(values) for values in zip(*parts, strict=True)]
        found = estimate_percentile(together, self.percentile)
        return self.tell(found, self.warn(found), runs=runs)


class SlowestStage(TimedMeasurement):
    """A percentile of the milliseconds of that stage, among all but some, where it is largest."""

    type: Literal["slowest_stage"]
    other_than: list[str] = Field(default_factory=list, description="stages left out")

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        rest = f" other than {', '.join(self.other_than)}" if self.other_than else ""
        return f"p{self.percentile:g} of the slowest stage{rest}, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the percentile, with the name of the stage as a note."""
        run = lab.run(self.pipeline, self.dataset)
        rest = {
            name: estimate_percentile(taken, self.percentile)
            for name, taken in _by_stage(run.latency).items()
            if name not in (TOTAL, *self.other_than)
        }
        if not rest:
            raise AssayError(f"{run.manifest.id}: no other stage was timed")
        slowest = max(rest, key=lambda name: rest[name].value)
        found = rest[slowest]
        return self.tell(found, f"it is {slowest}", self.warn(found), runs=[run])


class LatencyRatio(PairedMeasurement, TimedMeasurement):
    """The ratio of a percentile of latency, pipeline / base, both timed interleaved."""

    experimental: ClassVar[bool] = True
    usual_unit: ClassVar[Unit] = "ratio"
    type: Literal["latency_ratio"]

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return (
            f"p{self.percentile:g} of {self.pipeline} / {self.base}, interleaved, on {self.dataset}"
        )

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the ratio, with both percentiles as a note."""
        times = lab.interleave(self.base, self.pipeline, self.dataset)
        old, new = (estimate_percentile(taken, self.percentile).value for taken in times)
        ratio = estimate_percentile_ratio(*times, self.percentile)
        return self.tell(ratio, f"{old:.2f} → {new:.2f} ms")


def _by_stage(samples: Sequence[LatencySample]) -> Mapping[str, list[float]]:
    """Return the milliseconds of each query by stage, 0 if a query did not reach it."""
    if not samples:
        raise AssayError("latency.queries: no query was timed")
    names = dict.fromkeys(name for sample in samples for name in sample.milliseconds)
    return {name: [sample.milliseconds.get(name, 0.0) for sample in samples] for name in names}
