"""The result of a study, for Python and notebooks."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.eval.report.blocks import Report, Table, find_drawn
from assay.eval.report.files import Finding, write_blocks
from assay.eval.report.interval_bars import IntervalBar, draw_bars, plot_bars
from assay.eval.report.renderers.frames import tabulate
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import has_pandas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

F = TypeVar("F", bound=Finding)


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
        return self.found.as_json()

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
