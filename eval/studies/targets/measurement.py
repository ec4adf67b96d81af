"""The base classes of measurements, and helpers for their values."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Limits, Unit
from assay.eval.studies.targets.results import MeasuredValue


class BaseMeasurement(Limits):
    """The part that all measurements share. Without a limit one is shown and gets no verdict."""

    experimental: ClassVar[bool] = False  # True if the kind always needs more than stored runs
    usual_unit: ClassVar[Unit]

    label: str = Field("", description="what tells it from the target's other measurements")
    pipeline: str = Field(min_length=1, description="what is measured")
    dataset: str = Field(min_length=1, description="the collection, NAME or NAME:JUDGMENTS")

    @property
    def unit(self) -> Unit:
        """The unit of the value and the limits."""
        return self.usual_unit

    @property
    def pipelines(self) -> Mapping[str, str]:
        """The pipelines that the measurement names, by key."""
        return {"pipeline": self.pipeline}

    @property
    def experiment(self) -> bool:
        """True if the measurement needs more than stored runs."""
        return self.experimental

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        raise NotImplementedError

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the measured value. Raises AssayError if something needed is not available."""
        raise NotImplementedError

    def tell(
        self,
        estimate: OpenEstimate,
        *notes: str,
        runs: Sequence[StoredRun] = (),
        unit: Unit | None = None,
    ) -> MeasuredValue:
        """Return an estimate as a measured value.

        Args:
            estimate: The estimate.
            notes: Notes for the reader; empty ones are left out, and those of the runs follow.
            runs: The runs it was made from; their time is that of the value, else it is now.
            unit: The unit of the value, if it is not that of the limits.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        told = [*notes, *(line for run in runs for line in run.manifest.degraded)]
        return MeasuredValue(
            estimate=estimate,
            unit=unit or self.unit,
            measured=max((run.manifest.created for run in runs), default=now),
            runs=tuple(run.manifest.id for run in runs),
            note="; ".join(filter(None, told)),
        )


class PairedMeasurement(BaseMeasurement):
    """A measurement of one pipeline against another."""

    base: str = Field(min_length=1, description="what it is held against")

    @property
    def pipelines(self) -> Mapping[str, str]:
        """The pipelines that the measurement names, by key."""
        return {"base": self.base, "pipeline": self.pipeline}

    def find_runs(self, lab: TargetLab) -> tuple[StoredRun, StoredRun]:
        """Return the runs of both pipelines. Raises AssayError if they cannot be compared."""
        base, other = (lab.run(name, self.dataset) for name in self.pipelines.values())
        check_comparable(base, other)
        return base, other


def exact(value: float, n: int) -> Estimate:
    """Return an estimate of no width, for a count or a maximum of `n`."""
    return Estimate(value, value, value, n)


def tell_claim(claims: Claims) -> str:
    """Return the claim that a figure supports, in a clause; "" if no queries share a document."""
    if claims.single:
        return ""
    weak = " (weak)" if claims.leading == "documents" and claims.strength == "weak" else ""
    return f"{claims.name(claims.leading)}{weak}"
