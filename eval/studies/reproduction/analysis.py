"""Comparison of figures measured here with published ones, and the verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.eval.runs.json_form import in_json, length
from assay.eval.studies.reproduction.settings import PublishedFigure, Tolerance

Verdict = Literal["OK", "close", "differs", "beside", "not run"]
DIGITS = 4  # of published figures


@in_json(..., "difference", but=("figure",), spread=("figure",))
@dataclass(frozen=True)
class Row:
    """A published figure and the one measured here.

    Attributes:
        figure: The published figure.
        measured: The figure measured here; None if it was not measured.
        verdict: The verdict.
        reasons: The known causes of a difference, in words.
        why_not: The reason why nothing was measured; "" otherwise.
        run: The id of the run that was measured.
    """

    figure: PublishedFigure
    measured: float | None
    verdict: Verdict
    reasons: tuple[str, ...]
    why_not: str
    run: str

    @property
    def difference(self) -> float | None:
        """The measured figure minus the published one."""
        if self.measured is None:
            return None
        return round(self.measured - self.figure.value, DIGITS)

    @property
    def unexplained(self) -> bool:
        """True if the figures differ and no reason is known."""
        return self.verdict == "differs" and not self.reasons


@dataclass(frozen=True)
class SetResult:
    """The figures of a set. `collection` is the reference it was loaded by, "" if `missing`."""

    name: str
    title: str
    collection: str
    digest: str
    queries: int
    missing: str
    rows: tuple[Row, ...]


@in_json(..., unexplained=length("unexplained"))
@dataclass(frozen=True)
class Reproduction:
    """A reproduction of published figures.

    Attributes:
        created: The time of the reproduction in UTC.
        command: The command line.
        tolerance: The limits of the verdicts.
        sources: The publications by name.
        systems: The title of each system, and the command that makes its run, by name.
        sets: The sets.
        environment: The environment of the measurement.
    """

    created: str
    command: str
    tolerance: Tolerance
    sources: Mapping[str, Mapping[str, str]]
    systems: Mapping[str, Mapping[str, str]]
    sets: tuple[SetResult, ...]
    environment: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id of the reproduction, with its time."""
        return f"reproduction-{self.created}"

    @property
    def unexplained(self) -> list[Row]:
        """The figures that differ without a known reason."""
        return [row for one in self.sets for row in one.rows if row.unexplained]


def judge(measured: float, figure: PublishedFigure, tolerance: Tolerance) -> Verdict:
    """Return the verdict on a figure by its difference, rounded as published figures are.

    The verdict is "beside" if the published system is another one, so that the figures need not
    agree.
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
    """Return a figure with its verdict, and with reasons in words if it is not OK."""
    verdict: Verdict = "not run" if measured is None else judge(measured, figure, tolerance)
    told: Sequence[str] = []
    if verdict == "beside":
        told = [figure.other]
    elif verdict in ("close", "differs"):
        told = [reasons[name] for name in figure.reasons]
    return Row(figure, measured, verdict, tuple(told), why_not, run)
