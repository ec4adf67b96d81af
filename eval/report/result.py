"""The result of a study, for Python and notebooks."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.eval.report.blocks import Report, Table, find_drawn
from assay.eval.report.files import write_blocks
from assay.eval.report.renderers.frames import tabulate
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import has_pandas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.eval.report.formats import score, signed
from assay.eval.report.plots import LinearAxis
from assay.eval.runs.json_form import to_json
from assay.eval.statistics.estimates import OpenEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


F = TypeVar("F")


@dataclass(frozen=True, repr=False)
class StudyResult(Generic[F]):
    """The findings of a study as objects, and their report, which all else is made from."""

    found: F
    report: Report

    @property
    def verdict(self) -> str:
        """The verdict in words, and the warnings to read before believing it."""
        return "\n".join([*self.report.verdict, *self.report.warnings])

    @property
    def tables(self) -> "dict[str, DataFrame]":
        """The tables by key, as DataFrames with full figures."""
        return {key: tabulate(table) for key, table in self.report.tables.items()}

    def json(self) -> dict[str, Any]:
        """Return all findings as JSON values, as `--json` prints them."""
        return dict(to_json(self.found))

    def write(self, folder: str | Path) -> Path:
        """Write the JSON, the Markdown and the page.

        Args:
            folder: The folder to write to; it is created.

        Returns:
            The path of the page.

        """
        return write_blocks(self.found, self.report, Path(folder))

    def plot(self, table: str = "", ax: "Axes | None" = None) -> "Axes":
        """Draw the intervals of a table by matplotlib.

        Args:
            table: Its key; by default that of the first table that has any.
            ax: The axes to draw on; by default those of a new figure.

        Returns:
            The axes.

        Raises:
            AssayError: There is no such table, nothing to draw, or no matplotlib.

        """
        drawn = {key: item for key, item in self.report.tables.items() if _has_intervals(item)}
        if table not in {"", *drawn} or not drawn:
            allowed = ", ".join(drawn) or "none, for nothing here has intervals"
            raise AssayError(f"plot: {table or 'no table'}; allowed: {allowed}")
        chosen = drawn[table] if table else next(iter(drawn.values()))
        assert chosen.plot
        column = chosen.find_column(chosen.plot.column)
        return plot_bars(
            _list_bars(chosen), chosen.plot.kind == "difference", chosen.title, column.heading, ax
        )

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.report.title, self.verdict]))

    def _repr_html_(self) -> str | None:
        if not has_pandas():
            return None  # a notebook then shows the text
        from assay.eval.report.frames import render

        notes = [*self.report.verdict, *self.report.warnings]
        head = [f"<div><b>{escape(self.report.title)}</b></div>"]
        head += [f"<div>{escape(note)}</div>" for note in notes]
        shown = [
            render(table.title, [table.note] * bool(table.note), tabulate(table), _draw(table))
            for table in self.report.tables.values()
            if table.brief
        ]
        return "".join([*head, *shown])


def _has_intervals(table: Table) -> bool:
    """Return True if estimates of the table are drawn."""
    return table.plot is not None and table.plot.kind != "bar"


def _draw(table: Table) -> str:
    """Return the bars of a table as HTML; "" if there are none."""
    if not table.plot or not table.rows or not _has_intervals(table):
        return ""
    return draw_bars(_list_bars(table), table.plot.kind == "difference")


SHOWN, QUIET, RULE = "#0a6672", "#59636d", "#d5dade"
ROW, NAMES, WIDTH, FIGURES = 22, 190, 320, 70  # pixels


@dataclass(frozen=True, slots=True)
class IntervalBar:
    """A name and its estimate; `shown` colours those that are shown to differ or have no test."""

    name: str
    estimate: OpenEstimate
    shown: bool = True


def draw_bars(bars: Sequence[IntervalBar], differences: bool) -> str:
    """Return the bars as an SVG element; names are escaped. `differences` have 0 in the middle."""
    axis = _make_axis(bars, differences)
    height = ROW * len(bars)

    def place(value: float) -> float:
        return round(NAMES + WIDTH * axis.place(value) / 100, 1)

    zero = place(0.0)
    lines = [f'<line x1="{zero}" x2="{zero}" y1="0" y2="{height}" stroke="{RULE}"/>']
    for i, bar in enumerate(bars):
        y, colour = i * ROW + ROW / 2, SHOWN if bar.shown else QUIET
        low, high = _find_ends(bar, axis)
        told = (signed if differences else score)(bar.estimate.value)
        lines += [
            f'<text x="{NAMES - 8}" y="{y + 4}" text-anchor="end">{escape(bar.name)}</text>',
            f'<line x1="{place(low)}" x2="{place(high)}" y1="{y}" y2="{y}" stroke="{colour}" '
            'stroke-width="6" stroke-opacity="0.35"/>',
            f'<circle cx="{place(bar.estimate.value)}" cy="{y}" r="4" fill="{colour}"/>',
            f'<text x="{NAMES + WIDTH + 8}" y="{y + 4}">{told}</text>',
        ]
    size = f'width="{NAMES + WIDTH + FIGURES}" height="{height}"'
    return (
        f'<svg {size} role="img" aria-label="95 % intervals" font-size="12" '
        f'font-family="sans-serif" fill="currentColor">{"".join(lines)}</svg>'
    )


def plot_bars(
    bars: Sequence[IntervalBar], differences: bool, title: str, label: str, ax: "Axes | None"
) -> "Axes":
    """Draw the bars by matplotlib into `ax`, or into a new figure, and return the axes.

    Raises AssayError if matplotlib is missing.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise AssayError("plot: needs matplotlib, which the extra `notebooks` has") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 0.9 + 0.32 * len(bars)), layout="constrained")
    axis = _make_axis(bars, differences)
    for i, bar in enumerate(bars):
        low, high = _find_ends(bar, axis)
        colour = SHOWN if bar.shown else QUIET
        ax.plot([low, high], [i, i], color=colour, linewidth=2)
        ax.plot([bar.estimate.value], [i], "o", color=colour)
    # A dollar sign in a name is no formula.
    ax.set_yticks(range(len(bars)), [bar.name.replace("$", r"\$") for bar in bars])
    ax.set_xlim(axis.low, axis.high)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xlabel(label.replace("$", r"\$"))
    ax.set_title(title.replace("$", r"\$"), fontsize=10)
    if differences:
        ax.axvline(0, color=QUIET, linewidth=0.8)
    return ax


def _make_axis(bars: Sequence[IntervalBar], differences: bool) -> LinearAxis:
    """Return the axis that holds the bars: around 0, or from 0 to 1 or to the largest."""
    found = [
        end
        for bar in bars
        for end in (bar.estimate.low, bar.estimate.value, bar.estimate.high)
        if end is not None
    ]
    return LinearAxis.around_zero(found) if differences else LinearAxis(0.0, max(1.0, *found))


def _find_ends(bar: IntervalBar, axis: LinearAxis) -> tuple[float, float]:
    """Return the ends of the bar; the end of the axis where its interval has none."""
    low, high = bar.estimate.low, bar.estimate.high
    return axis.low if low is None else low, axis.high if high is None else high


def _list_bars(table: Table) -> list[IntervalBar]:
    """Return the bars of a table that has a plot."""
    assert table.plot
    names, column = table.columns[0], table.find_column(table.plot.column)
    tone = column.tone or (lambda _: "better")
    return [
        IntervalBar(names.print(row)[0], drawn, bool(tone(row)))
        for row in table.rows
        if (drawn := find_drawn(table, row))
    ]
