"""Figures measured here beside published ones, and the verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.eval.studies.reproduction.settings import PublishedFigure, Tolerance

Verdict = Literal["OK", "close", "differs", "beside", "not run"]
DIGITS = 4  # of published figures


@dataclass(frozen=True)
class Row:
    """A published figure and the one measured here, None where it was not.

    `reasons` are the known causes of a difference, in words; `why_not` says why nothing was
    measured, and `run` is the run that was.
    """

    figure: PublishedFigure
    measured: float | None
    verdict: Verdict
    reasons: tuple[str, ...]
    why_not: str
    run: str

    @property
    def difference(self) -> float | None:
        """Measured less published."""
        if self.measured is None:
            return None
        return round(self.measured - self.figure.value, DIGITS)

    @property
    def unexplained(self) -> bool:
        """Whether it differs, and no reason is known."""
        return self.verdict == "differs" and not self.reasons

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        published = self.figure.model_dump(exclude={"reasons"})
        return {
            **published,
            "measured": self.measured,
            "difference": self.difference,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "why_not": self.why_not,
            "run": self.run,
        }


@dataclass(frozen=True)
class SetResult:
    """What was found on a set. `collection` is where it was found, "" where it is `missing`."""

    name: str
    title: str
    collection: str
    digest: str
    queries: int
    missing: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Reproduction:
    """All of it. `systems` has of each system its title and the command that makes its run."""

    created: str
    command: str
    tolerance: Tolerance
    sources: Mapping[str, Mapping[str, str]]
    systems: Mapping[str, Mapping[str, str]]
    sets: tuple[SetResult, ...]
    environment: Mapping[str, Any]

    @property
    def id(self) -> str:
        """What names it: when it was made."""
        return f"reproduction-{self.created}"

    @property
    def unexplained(self) -> list[Row]:
        """The figures that differ without a known reason."""
        return [row for one in self.sets for row in one.rows if row.unexplained]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "created": self.created,
            "command": self.command,
            "tolerance": self.tolerance.model_dump(),
            "sources": dict(self.sources),
            "systems": dict(self.systems),
            "sets": [
                {**asdict(one), "rows": [row.as_json() for row in one.rows]} for one in self.sets
            ],
            "unexplained": len(self.unexplained),
            "environment": dict(self.environment),
        }


def judge(measured: float, figure: PublishedFigure, tolerance: Tolerance) -> Verdict:
    """Return the verdict on a figure: by its difference, rounded as published figures are.

    Where the published system is another one, there is nothing to agree with: it is shown beside.
    """
    if figure.other:
        return "beside"
    difference = abs(round(measured - figure.value, DIGITS))
    if difference <= tolerance.ok:
        return "OK"
    return "close" if difference <= tolerance.close else "differs"


def make_row(
    figure: PublishedFigure,
    measured: float | None,
    tolerance: Tolerance,
    reasons: Mapping[str, str],
    why_not: str = "",
    run: str = "",
) -> Row:
    """Return a figure with its verdict; reasons are given in words, where it is not OK."""
    verdict: Verdict = "not run" if measured is None else judge(measured, figure, tolerance)
    told: Sequence[str] = []
    if verdict == "beside":
        told = [figure.other]
    elif verdict in ("close", "differs"):
        told = [reasons[name] for name in figure.reasons]
    return Row(figure, measured, verdict, tuple(told), why_not, run)
