"""What every kind of measurement says, and how it gives what it found."""

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
    """What every measurement says. Without a limit it is shown and gets no verdict."""

    experimental: ClassVar[bool] = False  # whether measurements of the kind always do
    usual_unit: ClassVar[Unit]

    label: str = Field("", description="what tells it from the target's other measurements")
    pipeline: str = Field(min_length=1, description="what is measured")
    dataset: str = Field(min_length=1, description="the collection, NAME or NAME:JUDGMENTS")

    @property
    def unit(self) -> Unit:
        """The unit of its value and limits."""
        return self.usual_unit

    @property
    def pipelines(self) -> Mapping[str, str]:
        """The pipelines it names, by key."""
        return {"pipeline": self.pipeline}

    @property
    def experiment(self) -> bool:
        """Whether it needs more than stored runs."""
        return self.experimental

    def describe(self) -> str:
        """Return what is measured, in a line."""
        raise NotImplementedError

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Measure it. Raises AssayError when what it needs is not here."""
        raise NotImplementedError

    def tell(
        self,
        estimate: OpenEstimate,
        *notes: str,
        runs: Sequence[StoredRun] = (),
        unit: Unit | None = None,
    ) -> MeasuredValue:
        """Return an estimate as what was found: of `runs` and when these were, or of now.

        Notes that are "" are left out; those of the runs stand behind them. `unit` is the value's
        where it is not that of the limits.
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
        """The pipelines it names, by key."""
        return {"base": self.base, "pipeline": self.pipeline}

    def find_runs(self, lab: TargetLab) -> tuple[StoredRun, StoredRun]:
        """Return the runs of both. Raises AssayError where they cannot be compared."""
        base, other = (lab.run(name, self.dataset) for name in self.pipelines.values())
        check_comparable(base, other)
        return base, other


def exact(value: float, n: int) -> Estimate:
    """Return what was counted of `n`, or is their largest: an estimate of no width."""
    return Estimate(value, value, value, n)


def tell_claim(claims: Claims) -> str:
    """Say in a clause what a figure holds for; "" where no queries share a document."""
    if claims.single:
        return ""
    weak = " (weak)" if claims.leading == "documents" and claims.strength == "weak" else ""
    return f"{claims.name(claims.leading)}{weak}"
