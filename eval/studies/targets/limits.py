"""The limits of a value, and the rule of the verdict.

A target is **met** if the whole 95 % interval lies on the right side of its limits, **missed** if
the whole interval lies on the wrong side, and otherwise the measurement **cannot tell**. An
interval without an end is infinite on that side. A count has an interval of no width, so its
target is met or missed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from assay.eval.statistics.estimates import OpenEstimate
from assay.retrievers.settings import Settings

Unit = Literal["score", "difference", "change", "share", "ms", "s", "ratio", "count"]
Verdict = Literal["met", "missed", "cannot tell", "not measurable yet"]
Level = Literal["alert", "page"]
# The verdict on a whole is the first of these among the verdicts on its parts.
ORDER: tuple[Verdict, ...] = ("missed", "cannot tell", "not measurable yet", "met")
LARGEST = 1e9  # milliseconds of eleven days
SUFFIXES: Mapping[Unit, str] = {"ms": " ms", "s": " s"}


class Bound(NamedTuple):
    """A limit with its sign; `holds(value, limit)` is True if a value keeps it."""

    sign: str
    holds: Callable[[float, float], bool]
    limit: float


class Limits(Settings):
    """Where a value should lie; `more_than` and `less_than` exclude the limit.

    Beyond the limit are the levels at which someone is notified: `alert` in time, `page` at once.
    """

    largest: ClassVar[float] = LARGEST

    at_least: float | None = Field(None, description="lower limit")
    more_than: float | None = Field(None, description="lower limit, itself excluded")
    at_most: float | None = Field(None, description="upper limit")
    less_than: float | None = Field(None, description="upper limit, itself excluded")
    alert: float | None = Field(None, description="a value beyond this one is an alert")
    page: float | None = Field(None, description="a value beyond this one calls someone at once")

    @model_validator(mode="after")
    def _one_limit_a_side(self) -> "Limits":
        if self.at_least is not None and self.more_than is not None:
            raise ValueError("more_than: not allowed beside at_least")
        if self.at_most is not None and self.less_than is not None:
            raise ValueError("less_than: not allowed beside at_most")
        return self

    @model_validator(mode="after")
    def _levels_lie_beyond_the_limit(self) -> "Limits":
        given = list(self.levels.items())
        limits = [bound.limit for bound in self.bounds]
        if given and len(limits) != 1:
            raise ValueError(f"{given[0][0]}: needs one limit that it lies beyond, as at_most")
        order = limits + [value for _, value in given]
        if given and order != sorted(order, reverse=not self.rising):
            side = "above" if self.rising else "below"
            raise ValueError(f"{given[-1][0]}: must lie {side} the limit, and page beyond alert")
        return self

    @property
    def bounds(self) -> list[Bound]:
        """The limits that are set, the lower ones first."""
        signs = {
            ("≥", ge): self.at_least,
            (">", gt): self.more_than,
            ("≤", le): self.at_most,
            ("<", lt): self.less_than,
        }
        return [Bound(*sign, limit) for sign, limit in signs.items() if limit is not None]

    @property
    def levels(self) -> dict[Level, float]:
        """The levels that are set by name, the lesser first."""
        levels: dict[Level, float | None] = {"alert": self.alert, "page": self.page}
        return {name: value for name, value in levels.items() if value is not None}

    @property
    def rising(self) -> bool:
        """True if larger values are worse."""
        return self.at_least is None and self.more_than is None

    def judge(self, estimate: OpenEstimate) -> Verdict:
        """Return the verdict on one estimate."""
        low = -math.inf if estimate.low is None else estimate.low
        high = math.inf if estimate.high is None else estimate.high
        held = [(holds(low, limit), holds(high, limit)) for _, holds, limit in self.bounds]
        if all(map(all, held)):
            return "met"
        return "cannot tell" if all(map(any, held)) else "missed"

    def reach(self, value: float) -> Level | None:
        """Return the highest level that `value` exceeds in the bad direction; None for none."""
        beyond = gt if self.rising else lt
        reached = [name for name, level in self.levels.items() if beyond(value, level)]
        return reached[-1] if reached else None

    def describe_limits(self, unit: Unit) -> str:
        """Return the limits in words: `≥ +20 %`, `≥ 10 % and ≤ 40 %`; "" if there are none.

        The levels follow: `≤ 500 ms, alert > 600 ms, page > 1,000 ms`.
        """
        parts = [f"{bound.sign} {_print(bound.limit, unit)}" for bound in self.bounds]
        beyond = ">" if self.rising else "<"
        told = [f"{name} {beyond} {_print(level, unit)}" for name, level in self.levels.items()]
        return ", ".join([" and ".join(parts), *told])


def _print(value: float, unit: Unit) -> str:
    if unit == "change":
        return f"{100 * value:+.3g} %"
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.5g}{SUFFIXES.get(unit, '')}"


def conclude(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a whole from those on its parts: it is met if every part is."""
    return min(verdicts, key=ORDER.index)
