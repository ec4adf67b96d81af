"""What was measured of the targets, as values that are stored and read again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.targets.limits import Level, Unit, Verdict, conclude

FORMAT = 1


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A measured value. `runs` are the ids of the stored runs it was made from.

    `measured` is when, as ISO 8601; `note` is what a reader should know of it.
    """

    estimate: Estimate | OpenEstimate  # read again as the first, where it has both ends
    unit: Unit
    measured: str
    runs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement: what it is, what is wanted, what was found.

    `verdict` is None where nothing is wanted: the value is then shown for the reader. `found` is
    None where it could not be measured, for the `reason`. `level` is what the value reaches, by
    itself: an alert need not wait for an interval.
    """

    label: str
    description: str
    wanted: str
    found: MeasuredValue | None
    verdict: Verdict | None
    reason: str = ""
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One target; `remark` is what explains its verdict."""

    id: str
    criterion: str
    as_written: str
    lines: tuple[Line, ...]
    remark: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole."""
        return conclude(line.verdict for line in self.lines if line.verdict)


@dataclass(frozen=True, slots=True)
class Results:
    """All targets measured by one call, with its time (ISO 8601) and machine."""

    created: str
    environment: Mapping[str, Any]
    targets: tuple[TargetResult, ...]

    @property
    def id(self) -> str:
        """Names it by when it was measured."""
        return f"targets-{self.created}"

    def count(self) -> dict[Verdict, list[str]]:
        """Return the ids of the targets by verdict."""
        found: dict[Verdict, list[str]] = {
            "met": [], "missed": [], "cannot tell": [], "not measurable yet": []
        }  # fmt: skip
        for target in self.targets:
            found[target.verdict].append(target.id)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        targets = [{**asdict(target), "verdict": target.verdict} for target in self.targets]
        return {"format": FORMAT, **asdict(self), "targets": targets}
