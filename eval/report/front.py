"""The plot of quality against latency: its geometry; the template draws it.

Places are percentages of the plot's box, from the left and from the top.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eval.analysis.grid_search import COST, Figures, Result, Sweep
from eval.analysis.search_space import label
from eval.report.formats import amount, score
from eval.report.plots import LinearAxis, LogAxis, Tick, Whisker, whisker
from eval.statistics.estimates import OpenEstimate

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with the whiskers of its latency (across) and quality (down)."""

    number: int
    across: Whisker
    down: Whisker
    front: bool
    title: str


@dataclass(frozen=True, slots=True)
class FrontPlot:
    """The marks, those off the front first, so that the front is drawn over them.

    `path` is the line of the front, in a box of 100 by 100. `untimed` counts the points that cannot
    be placed.
    """

    marks: tuple[Mark, ...]
    latency: tuple[Tick, ...]
    quality: tuple[Tick, ...]
    path: str
    summary: str
    untimed: int


def plot_front(sweep: Sweep, collection: str, numbers: Sequence[Result]) -> FrontPlot | None:
    """Return the plot of a collection; None where nothing was timed.

    `numbers` are the results in the order in which the page counts them, from 1.
    """
    done = sweep.on(collection)
    timed = [(item, figures) for item, figures in done if figures.latency]
    if not timed:
        return None
    across = LogAxis.around([end for _, figures in timed for end in ends(figures.latency[COST])])
    down = axis_around([end for _, item in timed for end in ends(item.means[sweep.headline])])
    marks = [
        Mark(
            number=numbers.index(item) + 1,
            across=whisker(figures.latency[COST], across),
            down=from_top(whisker(figures.means[sweep.headline], down)),
            front=item in sweep.front,
            title=_title(sweep, item, figures),
        )
        for item, figures in timed
    ]
    marks.sort(key=lambda mark: mark.front)
    front = sorted((mark for mark in marks if mark.front), key=lambda mark: mark.across.at)
    return FrontPlot(
        marks=tuple(marks),
        latency=across.ticks,
        quality=list_ticks(down),
        path=_steps(front),
        summary=(
            f"{sweep.headline} against p95 latency of {len(marks)} points; on the front, from the "
            f"fastest: {'; '.join(mark.title for mark in front)}"
        ),
        untimed=len(done) - len(timed),
    )


def _title(sweep: Sweep, item: Result, figures: Figures) -> str:
    quality = score(figures.means[sweep.headline].value)
    return (
        f"{label(item.settings) or sweep.name}: {sweep.headline} {quality}, "
        f"p95 {amount(figures.latency[COST].value)} ms"
    )


def ends(estimate: OpenEstimate) -> list[float]:
    """Return the numbers of an estimate: its value and what ends its interval has."""
    return [at for at in (estimate.low, estimate.value, estimate.high) if at is not None]


def axis_around(values: Sequence[float]) -> LinearAxis:
    """Return the axis whose ends are the round values next to the least and the greatest."""
    low, high = min(values), max(values)
    step = _step(high - low or abs(high) or 1.0)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return LinearAxis(low, high if high > low else low + step)


def _step(span: float) -> float:
    """Return the least round step of which `span` has few enough."""
    power = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    return next(step * power for step in STEPS if span / (step * power) <= MOST_TICKS)


def list_ticks(axis: LinearAxis) -> tuple[Tick, ...]:
    """Return the round values of an axis that goes up."""
    step = _step(axis.high - axis.low)
    count = round((axis.high - axis.low) / step)
    values = [axis.low + step * at for at in range(count + 1)]
    return tuple(Tick(100 - axis.place(value), f"{value:.3g}") for value in values)


def from_top(item: Whisker) -> Whisker:
    """Return a whisker as it stands on an axis that goes up."""
    return Whisker(100 - item.at, 100 - item.low, 100 - item.high)


def _steps(front: Sequence[Mark]) -> str:
    """Return the line that divides what some point reaches from what none does."""
    if not front:
        return ""
    first = front[0]
    steps = "".join(f"H{mark.across.at:g}V{mark.down.at:g}" for mark in front[1:])
    return f"M{first.across.at:g} 100V{first.down.at:g}{steps}H100"
