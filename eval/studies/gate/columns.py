"""The columns that show a verdict on measures."""

from typing import Protocol

from assay.eval.report.blocks import Column, Tone
from assay.eval.studies.gate.measure_verdicts import Verdict

TONES: dict[Verdict, Tone] = {"pass": "better", "regression": "worse", "warning": "worse"}


class Judged(Protocol):
    """An object with a verdict."""

    @property
    def verdict(self) -> Verdict: ...  # noqa: D102


def _colour(item: Judged) -> Tone:
    return TONES.get(item.verdict, "")


VERDICT = Column("verdict", "Verdict", tone=_colour)
MEASURES = (
    Column("measure", "Measure"),
    Column("base", "Baseline", "score"),
    Column("head", "Head", "score"),
    Column("difference", "Difference (95 %)", "difference"),
    Column("margin", "Margin", "score", brief=False),
    Column("p", "Adj. p", "p"),
    VERDICT,
)
POWER = (
    MEASURES[0],
    Column("finds_spread", "Finds, a little from all", "score"),
    Column("finds", "Finds, however it comes about", "score"),
    Column("wins", "Won", "count"),
    Column("ties", "Tied", "count"),
    Column("losses", "Lost", "count"),
)
