"""The results of measuring targets, as values that can be stored and read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.runs.json_form import constant, in_json
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.targets.limits import Level, Unit, Verdict, conclude

FORMAT = 1


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A measured value.

    Attributes:
        estimate: The value with its interval.
        unit: The unit.
        measured: The time of the measurement, as ISO 8601.
        runs: The ids of the stored runs that it was made from.
        note: A note for the reader.
    """

    estimate: Estimate | OpenEstimate  # parsed as the first if it has both ends
    unit: Unit
    measured: str
    runs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one measurement.

    Attributes:
        label: The label of the measurement.
        description: The description of the measurement.
        wanted: The limits in words.
        found: The measured value; None if it could not be measured.
        verdict: The verdict; None without limits, when the value is only shown.
        reason: The reason why it could not be measured.
        level: The level that the value itself reaches: an alert does not wait for an interval.
    """

    label: str
    description: str
    wanted: str
    found: MeasuredValue | None
    verdict: Verdict | None
    reason: str = ""
    level: Level | None = None


@in_json(..., "verdict")
@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of one target; `remark` explains its verdict."""

    id: str
    criterion: str
    as_written: str
    lines: tuple[Line, ...]
    remark: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the target."""
        return conclude(line.verdict for line in self.lines if line.verdict)


@in_json(..., format=constant(FORMAT))
@dataclass(frozen=True, slots=True)
class Results:
    """All targets measured by one call, with its time (ISO 8601) and machine."""

    created: str
    environment: Mapping[str, Any]
    targets: tuple[TargetResult, ...]

    @property
    def id(self) -> str:
        """The id, with the time of the measurement."""
        return f"targets-{self.created}"

    def count(self) -> dict[Verdict, list[str]]:
        """Return the ids of the targets by verdict."""
        found: dict[Verdict, list[str]] = {
            "met": [], "missed": [], "cannot tell": [], "not measurable yet": []
        }  # fmt: skip
        for target in self.targets:
            found[target.verdict].append(target.id)
        return found
