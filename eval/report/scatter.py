"""The plot of two figures of many rows: its geometry; the template draws it.

Places are percentages of the plot's box, from the left and from the top.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.report.blocks import Cell, Scatter, Table, find_number
from assay.eval.report.plots import LinearAxis, LogAxis, Tick, Whisker, whisker
from assay.eval.statistics.estimates import Estimate, OpenEstimate

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """A row, by its place in the table from 1, with the whiskers of both figures."""

    number: int
    across: Whisker
    down: Whisker
    front: bool
    title: str


@dataclass(frozen=True, slots=True)
class ScatterView:
    """The marks from the least across, those off the front first: it is drawn over them.

    `path` is the line of the marks that none beats in both figures, in a box of 100 by 100.
    `across` and `quality` are the ticks, `words` name the axis across. `unplaced` is the number of
    rows without one of the figures.
    """

    title: str
    words: str
    marks: tuple[Mark, ...]
    across: tuple[Tick, ...]
    quality: tuple[Tick, ...]
    path: str
    summary: str
    unplaced: int


def draw_scatter(table: Table, scatter: Scatter) -> ScatterView | None:
    """Return the plot of a table; None if no row has both figures."""
    across, down = table.find_column(scatter.across), table.find_column(scatter.down)
    placed = {
        i: (_estimate(across.read(row)), _estimate(down.read(row)))
        for i, row in enumerate(table.rows)
        if None not in (find_number(across.read(row)), find_number(down.read(row)))
    }
    if not placed:
        return None
    x = _make_axis([end for pair in placed.values() for end in list_ends(pair[0])], scatter.log)
    y = axis_around([end for pair in placed.values() for end in list_ends(pair[1])])
    marks = [
        Mark(
            number=i + 1,
            across=whisker(pair[0], x),
            down=from_top(whisker(pair[1], y)),
            front=scatter.front(table.rows[i]),
            title=_title(table, table.rows[i], scatter),
        )
        for i, pair in placed.items()
    ]
    line = _find_front([(pair[0].value, pair[1].value) for pair in placed.values()])
    front = [mark for mark in sorted(marks, key=lambda mark: mark.across.at) if mark.front]
    picked = "on the front, " * (len(front) < len(marks))
    return ScatterView(
        title=scatter.title,
        words=f"{across.heading}{', logarithmic' * scatter.log}",
        marks=tuple(sorted(marks, key=lambda mark: (mark.front, mark.across.at))),
        across=x.ticks if isinstance(x, LogAxis) else _flip(list_ticks(x)),
        quality=list_ticks(y),
        path=_steps([marks[i] for i in line]),
        summary=f"{down.heading} against {across.heading} of {len(marks)}; {picked}from the least: "
        f"{'; '.join(mark.title for mark in front)}",
        unplaced=len(table.rows) - len(marks),
    )


def _estimate(cell: Cell) -> OpenEstimate:
    """Return a figure with its interval, which of a plain number has no width."""
    if isinstance(cell, OpenEstimate):
        return cell
    number = find_number(cell)
    assert number is not None
    return Estimate(number, number, number, 1)


def _title(table: Table, row: Any, scatter: Scatter) -> str:
    told = []
    for key in (scatter.down, scatter.across):
        column = table.find_column(key)
        told.append(f"{column.heading} {column.print(row)[0]}")
    return f"{table.columns[0].print(row)[0]}: {', '.join(told)}"


def _make_axis(values: Sequence[float], log: bool) -> LogAxis | LinearAxis:
    return LogAxis.around(values) if log else axis_around([0.0, *values])


def list_ends(estimate: OpenEstimate) -> list[float]:
    """Return the numbers of an estimate: its value and the ends that its interval has."""
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


def _flip(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Return the ticks of an axis that goes up as those of one that goes right."""
    return tuple(Tick(100 - tick.at, tick.label) for tick in ticks)


def from_top(item: Whisker) -> Whisker:
    """Return a whisker as it stands on an axis that goes up."""
    return Whisker(100 - item.at, 100 - item.low, 100 - item.high)


def _find_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the places of the points that none beats in both, from the least across on."""
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    front: list[int] = []
    for i in order:
        if not front or points[i][1] > points[front[-1]][1]:
            front.append(i)
    return front


def _steps(front: Sequence[Mark]) -> str:
    """Return the line between the area that some row reaches and the area that none does."""
    if not front:
        return ""
    first = front[0]
    steps = "".join(f"H{mark.across.at:g}V{mark.down.at:g}" for mark in front[1:])
    return f"M{first.across.at:g} 100V{first.down.at:g}{steps}H100"
