"""The rule of the verdict.

A target is **met** when the whole 95 % interval lies on the right side of its limits, **missed**
when the whole interval lies on the wrong side, and otherwise the measurement **cannot tell**. An
interval without an end goes on for ever on that side. What is counted rather than estimated has an
interval of no width, so that it is met or missed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.eval.statistics.estimates import OpenEstimate

Verdict = Literal["met", "missed", "cannot tell", "not measurable yet"]
Level = Literal["alert", "page"]
# The verdict on a whole is the first of these that stands on a part.
ORDER: tuple[Verdict, ...] = ("missed", "cannot tell", "not measurable yet", "met")


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a value should lie. None: no limit; `more_than` and `less_than` exclude the limit."""

    at_least: float | None = None
    more_than: float | None = None
    at_most: float | None = None
    less_than: float | None = None

    def __bool__(self) -> bool:
        return any(value is not None for _, value in self.items())

    def items(self) -> tuple[tuple[str, float | None], ...]:
        """Return the limits with the signs that stand for them, the lower ones first."""
        return (
            ("≥", self.at_least),
            (">", self.more_than),
            ("≤", self.at_most),
            ("<", self.less_than),
        )

    def allow(self, value: float) -> bool:
        """Say whether `value` lies where it should."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.more_than is None or value > self.more_than)
            and (self.at_most is None or value <= self.at_most)
            and (self.less_than is None or value < self.less_than)
        )

    def exclude(self, low: float, high: float) -> bool:
        """Say whether all values from `low` to `high` lie where they should not."""
        return (
            (self.at_least is not None and high < self.at_least)
            or (self.more_than is not None and high <= self.more_than)
            or (self.at_most is not None and low > self.at_most)
            or (self.less_than is not None and low >= self.less_than)
        )


@dataclass(frozen=True, slots=True)
class Levels:
    """How far beyond its limit a value tells someone: `alert` in time, `page` at once.

    `rising` says that larger values are worse. None: no such level.
    """

    alert: float | None = None
    page: float | None = None
    rising: bool = True

    def items(self) -> tuple[tuple[Level, float | None], ...]:
        """Return the levels by name, the lesser first."""
        return (("alert", self.alert), ("page", self.page))

    def reach(self, value: float) -> Level | None:
        """Return the highest level that `value` lies beyond."""
        sign = 1 if self.rising else -1
        reached = [name for name, i in self.items() if i is not None and sign * (value - i) > 0]
        return reached[-1] if reached else None


def judge(estimate: OpenEstimate, limits: Limits) -> Verdict:
    """Return the verdict on one estimate."""
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    if limits.allow(low) and limits.allow(high):
        return "met"
    return "missed" if limits.exclude(low, high) else "cannot tell"


def conclude(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a whole from those on its parts: it is met when every part is."""
    return min(verdicts, key=ORDER.index)
