"""What was measured of the targets, as values that are stored and read again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assay.eval.statistics.estimates import OpenEstimate, make_estimate
from assay.eval.studies.targets.verdict import Level, Verdict, conclude

FORMAT = 1

Unit = Literal["score", "difference", "change", "share", "ms", "s", "ratio", "count"]


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A measured value. `runs` are the ids of the stored runs it was made from.

    `measured` is when, as ISO 8601; `note` is what a reader should know of it.
    """

    estimate: OpenEstimate
    unit: Unit
    measured: str
    runs: tuple[str, ...] = ()
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "MeasuredValue":
        """Return what `as_json` made the values of."""
        estimate, runs = make_estimate(**values["estimate"]), tuple(values["runs"])
        return cls(**{**values, "estimate": estimate, "runs": runs})


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
    """All targets measured by one call, with its time (ISO 8601) and machine.

    `seconds` is what each run and experiment took, by what it is, the longest first: nearly
    nothing where an equal call had made it before.
    """

    created: str
    environment: Mapping[str, Any]
    targets: tuple[TargetResult, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)

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
        return {
            "format": FORMAT,
            "created": self.created,
            "environment": dict(self.environment),
            "seconds": dict(self.seconds),
            "targets": [
                {
                    "id": target.id,
                    "criterion": target.criterion,
                    "as_written": target.as_written,
                    "verdict": target.verdict,
                    "remark": target.remark,
                    "lines": [asdict(line) for line in target.lines],
                }
                for target in self.targets
            ],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Results":
        """Return what `as_json` made the values of."""
        return cls(
            created=values["created"],
            environment=values["environment"],
            seconds=values.get("seconds", {}),
            targets=tuple(
                TargetResult(
                    id=target["id"],
                    criterion=target["criterion"],
                    as_written=target["as_written"],
                    lines=tuple(map(_read_line, target["lines"])),
                    remark=target.get("remark", ""),
                )
                for target in values["targets"]
            ),
        )


def _read_line(values: Mapping[str, Any]) -> Line:
    found = values["found"] and MeasuredValue.from_json(values["found"])
    return Line(**{**values, "found": found})
