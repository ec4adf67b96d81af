"""A report as a page: one file that needs neither network nor server."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.report.blocks import (
    MOST_ROWS,
    Block,
    Facts,
    Listing,
    Report,
    Table,
    find_drawn,
    find_number,
    scale_bars,
)
from assay.eval.report.page import render_page
from assay.eval.report.plots import LinearAxis, Tick, Whisker, whisker
from assay.eval.report.provenance import describe_origin
from assay.eval.report.scatter import ScatterView, draw_scatter

TEMPLATE = "report/templates/report.html.j2"
SHADES = 9  # of the style sheet


@dataclass(frozen=True)
class CellView:
    """A cell in words; `whisker` is its plot, `band` how far around 0 nothing would be shown.

    `bar` is the length of its bar, in percent of the longest; None if none is drawn.
    `shade` is the height of its figure among all of a table, from 0 to `SHADES`; None if cells
    are not shaded.
    """

    text: str
    interval: str
    numeric: bool
    tone: str
    link: str
    whisker: Whisker | None = None
    band: Whisker | None = None
    bar: float | None = None
    shade: int | None = None
    highest: bool = False


@dataclass(frozen=True)
class TableView:
    """A table; `axis` has the ticks of its plot, empty without one, which follows `plotted`."""

    id: str
    title: str
    notes: tuple[str, ...]
    headings: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[CellView, ...], ...]
    plotted: int
    axis: tuple[Tick, ...]
    kind: str
    scatters: tuple[ScatterView, ...]


def render(
    report: Report, template: str = TEMPLATE, scripts: Sequence[str] = (), **more: Any
) -> str:
    """Return the page; whatever comes from documents and queries is escaped.

    A `template` that extends the usual one may show `more`, with `scripts` of its own.
    """
    return render_page(
        template,
        scripts,
        report=report,
        sections=list(map(_show, report.blocks)),
        pairs=describe_origin(report),
        command=shlex.join(map(str, report.environment.get("command", ()))),
        **more,
    )


def _show(block: Block) -> dict[str, Any]:
    """Return a block by its kind, as the template takes it."""
    if isinstance(block, Table):
        return {"kind": "table", "title": block.title, "table": show_table(block)}
    if isinstance(block, Facts):
        return {"kind": "facts", "title": block.title, "pairs": block.pairs}
    if isinstance(block, Listing):
        return {"kind": "listing", "title": block.title, "text": block.text}
    return {"kind": "prose", "title": block.title, "text": block.text}


def show_table(table: Table) -> TableView:
    """Return a table as the templates take it."""
    axis = make_axis(table) if table.plot and table.plot.kind != "bar" else None
    bars = scale_bars(table)
    keys = [column.key for column in table.columns]
    numbered = bool(table.scatters)  # whose marks are named by the number of their row
    return TableView(
        id=table.key.replace("_", "-"),
        title=table.title,
        notes=tuple(table.notes),
        headings=(
            *([("No.", True)] if numbered else []),
            *((column.heading, column.numeric) for column in table.columns),
        ),
        rows=tuple(
            (*([CellView(str(i), "", True, "", "")] if numbered else []), *cells)
            for i, cells in enumerate(
                (
                    _list_cells(table, row, axis, bars.get(number))
                    for number, row in enumerate(table.rows[:MOST_ROWS])
                ),
                1,
            )
        ),
        plotted=keys.index(table.plot.column) + numbered if table.plot else -1,
        axis=_list_ticks(axis) if axis else (),
        kind=table.plot.kind if table.plot else "",
        scatters=tuple(drawn for item in table.scatters if (drawn := draw_scatter(table, item))),
    )


def _list_cells(
    table: Table, row: Any, axis: LinearAxis | None, length: float | None
) -> Iterator[CellView]:
    ends = _find_ends(table) if table.shaded else None
    for column in table.columns:
        text, interval = column.print(row)
        drawn = band = bar = None
        if table.plot and column.key == table.plot.column:
            drawn, band = _draw(table, row, axis) if axis else (None, None)
            bar = None if length is None else round(100 * length, 2)
        tone = column.tone(row) if column.tone else ""
        link = column.link(row) if column.link else ""
        number = find_number(column.read(row))
        shade = None
        if ends and column.numeric and number is not None:
            low, high = ends
            shade = round(SHADES * (number - low) / (high - low)) if high > low else 0
        highest = shade is not None and ends is not None and number == ends[1]
        yield CellView(text, interval, column.numeric, tone, link, drawn, band, bar, shade, highest)


def _find_ends(table: Table) -> tuple[float, float] | None:
    """Return the least and the greatest figure of a table; None if it has none."""
    cells = [column.read(row) for row in table.rows for column in table.columns if column.numeric]
    found = [number for cell in cells if (number := find_number(cell)) is not None]
    return (min(found), max(found)) if found else None


def _draw(table: Table, row: Any, axis: LinearAxis) -> tuple[Whisker | None, Whisker | None]:
    """Return the whisker of a row and the band around 0."""
    reach = table.plot.band(row) if table.plot and table.plot.band else None
    band = Whisker(50, axis.place(-reach), axis.place(reach)) if reach else None
    estimate = find_drawn(table, row)
    return (None if estimate is None else whisker(estimate, axis)), band


def make_axis(table: Table) -> LinearAxis:
    """Return the axis that holds the plotted estimates of a table. It must have a plot."""
    assert table.plot
    found = [item for row in table.rows if (item := find_drawn(table, row))]
    ends = [end for item in found for end in (item.low, item.value, item.high) if end is not None]
    if table.plot.kind == "difference":
        return LinearAxis.around_zero(ends)
    return LinearAxis(0.0, max([1.0, *ends]))


def _list_ticks(axis: LinearAxis) -> tuple[Tick, ...]:
    values = (axis.low, (axis.low + axis.high) / 2, axis.high)
    signs = axis.low < 0
    return tuple(
        Tick(axis.place(i), f"{'−' if i < 0 else '+' if i and signs else ''}{abs(i):g}")
        for i in values
    )
