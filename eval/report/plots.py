"""Geometry of the report's plots; the templates draw them.

Places along an axis are percentages, so that a plot fits any width while its marks keep their
size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.eval.statistics.estimates import OpenEstimate

STEPS = ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))  # labels within a decade
FEWEST_TICKS = 3
SMALLEST = 0.001


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Whisker:
    """A dot with its interval, in percent of the axis."""

    at: float
    low: float
    high: float


class Axis(Protocol):
    """The axis of a plot."""

    @property
    def low(self) -> float:
        """The value at the beginning."""
        ...

    @property
    def high(self) -> float:
        """The value at the end."""
        ...

    def place(self, value: float) -> float:
        """Return the place of `value`, in percent of the axis; beyond its ends, the end."""
        ...


@dataclass(frozen=True, slots=True)
class LinearAxis:
    """An axis from `low` to `high`."""

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def around_zero(cls, values: Sequence[float]) -> "LinearAxis":
        """Return the axis with zero in its middle and round ends that holds all `values`."""
        largest = max(map(abs, values), default=0.0)
        end = _round_up(largest) if largest else 1.0
        return cls(-end, end)

    def place(self, value: float) -> float:
        """Return the place of `value` in percent."""
        return _percent((value - self.low) / (self.high - self.low))


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis from `low` to `high`, both above 0."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> "LogAxis":
        """Return the axis with round ends that holds all `values`."""
        positive = [max(value, SMALLEST) for value in values]
        low, high = _round_down(min(positive)), _round_up(max(positive))
        return cls(low, high if high > low else low * 10)

    def place(self, value: float) -> float:
        """Return the place of `value` in percent."""
        span = math.log10(self.high / self.low)
        return _percent(math.log10(max(value, SMALLEST) / self.low) / span)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round values: powers of ten, and multiples of them where those are too few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in STEPS:
            values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
            within = [i for i in values if self.low * 0.999 <= i <= self.high * 1.001]
            if len(within) >= FEWEST_TICKS:
                break
        return tuple(Tick(self.place(value), f"{value:,.10g}") for value in within)


def whisker(estimate: OpenEstimate, axis: Axis) -> Whisker:
    """Return the dot and whisker of `estimate` on `axis`, to whose edge an open interval goes."""
    low = axis.low if estimate.low is None else estimate.low
    high = axis.high if estimate.high is None else estimate.high
    return Whisker(*(axis.place(i) for i in (estimate.value, low, high)))


def strip(values: Sequence[float], axis: Axis) -> str:
    """Return an SVG path with one upright line per value, in a box of 100 by 10."""
    return "".join(f"M{axis.place(value):g} 0V10" for value in values)


def staircase(values: Sequence[float], axis: Axis) -> str:
    """Return an SVG path of the share of `values` up to each place, in a box of 100 by 100."""
    steps = [
        f"H{axis.place(value):g}V{100 - 100 * rank / len(values):.4g}"
        for rank, value in enumerate(sorted(values), start=1)
    ]
    return f"M0 100{''.join(steps)}H100"


def _percent(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 2)


def _round_down(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * 1.0001)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return min(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.9999)
