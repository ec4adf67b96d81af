"""The plots of quality against latency and against cost: their geometry; the template draws them.

Places are percentages of the plot's box, from the left and from the top.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.report.formats import amount, score
from assay.eval.report.plots import Axis, LinearAxis, LogAxis, Tick, Whisker, whisker
from assay.eval.running.figures import COST, Figures, PointResult
from assay.eval.running.search_space import label
from assay.eval.runs.summary.cost import tell_queries
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.sweep.grid_search import Sweep, find_front

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with the whiskers of its cost or latency (across) and quality (down)."""

    number: int
    across: Whisker
    down: Whisker
    front: bool
    title: str


@dataclass(frozen=True, slots=True)
class FrontPlot:
    """The marks, those off the front first, so that the front is drawn over them.

    `path` is the line of what no mark beats in the two figures drawn, in a box of 100 by 100.
    `across` are the ticks of latency or cost. `unplaced` counts the points that have none.
    """

    marks: tuple[Mark, ...]
    across: tuple[Tick, ...]
    quality: tuple[Tick, ...]
    path: str
    summary: str
    unplaced: int


def plot_front(sweep: Sweep, collection: str, numbers: Sequence[PointResult]) -> FrontPlot | None:
    """Return the plot of a collection against latency; None where nothing was timed.

    `numbers` are the results in the order in which the page counts them, from 1.
    """
    timed = {
        i: figures.latency[COST]
        for i, (_, figures) in enumerate(sweep.on(collection))
        if figures.latency
    }
    if not timed:
        return None
    axis = LogAxis.around([end for latency in timed.values() for end in ends(latency)])
    return _plot(sweep, collection, numbers, timed, axis, axis.ticks, "p95 latency")


def plot_cost(sweep: Sweep, collection: str, numbers: Sequence[PointResult]) -> FrontPlot | None:
    """Return the plot of a collection against the cost of queries; None where none is known."""
    done = sweep.on(collection)
    known = {i: figures.usd for i, (_, figures) in enumerate(done) if figures.usd is not None}
    if not sweep.charged(collection) or not known:
        return None
    priced = {i: Estimate(usd, usd, usd, len(done)) for i, usd in known.items()}
    axis = axis_around([0.0, *known.values()])
    ticks = tuple(Tick(100 - tick.at, tick.label) for tick in list_ticks(axis))
    return _plot(sweep, collection, numbers, priced, axis, ticks, "US dollars for 1,000 queries")


def _plot(
    sweep: Sweep,
    collection: str,
    numbers: Sequence[PointResult],
    placed: Mapping[int, OpenEstimate],
    across: Axis,
    ticks: tuple[Tick, ...],
    words: str,
) -> FrontPlot:
    """Return the plot of the points `placed` across, by their places on the collection."""
    done = sweep.on(collection)
    quality = {i: done[i][1].means[sweep.headline] for i in placed}
    down = axis_around([end for estimate in quality.values() for end in ends(estimate)])
    marks = {
        i: Mark(
            number=numbers.index(done[i][0]) + 1,
            across=whisker(estimate, across),
            down=from_top(whisker(quality[i], down)),
            front=done[i][0] in sweep.front,
            title=_title(sweep, *done[i]),
        )
        for i, estimate in placed.items()
    }
    points = [(placed[i].value, quality[i].value) for i in placed]
    line = [list(marks.values())[i] for i in find_front(points)]
    front = [mark for mark in sorted(marks.values(), key=lambda i: i.across.at) if mark.front]
    return FrontPlot(
        marks=tuple(sorted(marks.values(), key=lambda mark: mark.front)),
        across=ticks,
        quality=list_ticks(down),
        path=_steps(line),
        summary=(
            f"{sweep.headline} against {words} of {len(marks)} points; on the front, from the "
            f"least: {'; '.join(mark.title for mark in front)}"
        ),
        unplaced=len(done) - len(marks),
    )


def _title(sweep: Sweep, item: PointResult, figures: Figures) -> str:
    quality = score(figures.means[sweep.headline].value)
    told = [f"{sweep.headline} {quality}"]
    if figures.p95 is not None:
        told.append(f"p95 {amount(figures.p95)} ms")
    if figures.cost:
        told.append(f"{tell_queries(figures.cost)} USD per 1,000 queries")
    return f"{label(item.settings) or sweep.name}: {', '.join(told)}"


def ends(estimate: OpenEstimate) -> list[float]:
    """Return the numbers of an estimate: its value and what ends its interval has."""
    return [i for i in (estimate.low, estimate.value, estimate.high) if i is not None]


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
    values = [axis.low + step * i for i in range(count + 1)]
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
