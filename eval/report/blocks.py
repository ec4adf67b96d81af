"""The blocks of a report. Each output format shows these in its own way, and nothing else.

A cell holds a plain value: a text, a number, an estimate with its interval, or None if empty. Its
column says how it is printed; a column's `key` names it in DataFrames and MLflow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from assay.eval.report.formats import amount, interval, p_value, percent, score, signed, size
from assay.eval.statistics.estimates import OpenEstimate

Format = Literal[
    "text", "score", "difference", "p", "count", "change", "ms", "ms change", "usd", "percent",
    "size", "number", "share", "relative", "milliseconds", "seconds",
    "precise", "precise difference", "amount",
]  # fmt: skip
Tone = Literal["", "better", "worse"]
PlotKind = Literal["whisker", "share", "difference", "bar"]
Cell = str | int | float | bool | OpenEstimate | None

NOTHING = "–"
MOST_ROWS = 1_000  # of a table in a file; the JSON and DataFrames have all
_PRINTERS: Mapping[str, Callable[[Any], str]] = {
    "score": score,
    "difference": signed,
    "p": p_value,
    "count": "{:,.0f}".format,
    "change": lambda value: f"{'−' if value < 0 else '+'}{abs(value):,.0f}",
    "ms": amount,
    "ms change": lambda value: f"{'−' if value < 0 else '+'}{amount(abs(value))}",
    "usd": lambda value: f"{value:,.2f}" if value >= 1 else f"{value:.2g}",
    "percent": percent,
    "size": size,
    "number": "{:,.6g}".format,
    "amount": amount,
    "share": lambda value: f"{100 * value:.1f}",
    "relative": lambda value: f"{'−' if value < 0 else '+'}{abs(100 * value):.1f}",
    "milliseconds": amount,
    "seconds": amount,
    "precise": "{:.4f}".format,
    "precise difference": lambda value: (
        f"{'−' if value < 0 else '+' if value else ''}{abs(value):.4f}"
    ),
}
# Between the ends of an interval: with signs a dash would be read as one.
_BETWEEN = {"difference": " … ", "precise difference": " … ", "ms change": " … ", "relative": " … "}
# After a value, if no heading names its unit; its interval has the same unit.
_UNITS = {"share": "\u00a0%", "relative": "\u00a0%", "milliseconds": " ms", "seconds": " s"}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `value` gives the cell of a row; by default it is the attribute `key`, which may be dotted.
    `format` may be a function of the row, for rows that differ in unit. `brief` columns are shown
    on a terminal without --full. `tone` colours a cell, and `link` is an address that it leads to,
    "" for none, relative to the page.
    """

    key: str
    heading: str
    format: Format | Callable[[Any], Format] = "text"
    value: Callable[[Any], Cell] | None = None
    brief: bool = True
    tone: Callable[[Any], Tone] | None = None
    link: Callable[[Any], str] | None = None

    def read(self, row: Any) -> Cell:
        """Return the cell of `row`."""
        return (self.value or attrgetter(self.key))(row)

    def print(self, row: Any) -> tuple[str, str]:
        """Return the cell of `row` as people read it, and its interval in words, "" without."""
        shown = self.format(row) if callable(self.format) else self.format
        return print_cell(self.read(row), shown)

    @property
    def numeric(self) -> bool:
        """True if its cells are figures, which are aligned to the right."""
        return self.format != "text"


@dataclass(frozen=True)
class Plot:
    """The estimates of a column, or its figures as bars, drawn next to its table.

    The axis of differences has 0 in its middle. That of shares is from 0 to 1, and no other figure
    is drawn of them; that of others is from 0 to 1 or to the largest, that of bars from 0 to the
    largest.
    `band` gives the distance from 0 within which the difference of a row would not be shown.
    """

    column: str
    kind: PlotKind = "difference"
    band: Callable[[Any], float | None] | None = None


@dataclass(frozen=True)
class Scatter:
    """A plot of the rows by two columns; low values of `across` and high ones of `down` are better.

    With `log`, the axis across is logarithmic; `front` says which rows are highlighted.
    """

    title: str
    across: str
    down: str
    log: bool = False
    front: Callable[[Any], bool] = lambda _: True


@dataclass(frozen=True)
class Table:
    """Rows of the same columns; the first column names the row. `key` names it in Python.

    `plot` is drawn next to the rows, `scatters` below them. With `shaded`, a cell with a figure is
    the darker the higher that is among all of them. A terminal shows `most` rows without --full.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    note: str = ""
    plot: Plot | None = None
    scatters: Sequence[Scatter] = ()
    shaded: bool = False
    brief: bool = True
    most: int | None = None

    @property
    def notes(self) -> list[str]:
        """The lines below it in a file: its note, and how many rows it shows if not all."""
        left = f"The first {MOST_ROWS:,} of {len(self.rows):,} rows; the JSON has all."
        return [*filter(None, [self.note]), *([left] if len(self.rows) > MOST_ROWS else [])]

    def find_column(self, key: str) -> Column:
        """Return the column named `key`."""
        return next(column for column in self.columns if column.key == key)


@dataclass(frozen=True)
class Facts:
    """Terms with their texts."""

    title: str
    pairs: Sequence[tuple[str, str]]
    brief: bool = True


@dataclass(frozen=True)
class Prose:
    """A paragraph: how something was made, or is meant."""

    title: str
    text: str
    brief: bool = False


@dataclass(frozen=True)
class Listing:
    """Text with lines of its own, such as a config in YAML: in files alone, none on a terminal."""

    title: str
    text: str
    language: str = ""


Block = Table | Facts | Prose | Listing


@dataclass(frozen=True)
class Report:
    """A report for people: `verdict` in sentences, `warnings` to check first, then the blocks.

    `subject` names what it is about, in a few words each; `description` is the user's own.
    """

    id: str
    kind: str
    title: str
    verdict: Sequence[str]
    subject: Sequence[str] = ()
    warnings: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    description: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by key."""
        return {block.key: block for block in self.blocks if isinstance(block, Table)}


def find_drawn(table: Table, row: Any) -> OpenEstimate | None:
    """Return the estimate of a row that its table's plot draws; None if it draws none."""
    value = table.find_column(table.plot.column).read(row) if table.plot else None
    if not isinstance(value, OpenEstimate):
        return None
    ends = [end for end in (value.low, value.value, value.high) if end is not None]
    share = table.plot and table.plot.kind == "share"
    return None if share and not all(0 <= end <= 1 for end in ends) else value


def find_number(value: Cell) -> float | None:
    """Return the number of a cell, of an estimate its value; None if it holds none."""
    if isinstance(value, OpenEstimate):
        return value.value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def scale_bars(table: Table) -> dict[int, float]:
    """Return the length of the bar of each row, as a share of the longest, by row number from 0.

    It is empty if the table has no bars; a row without a figure has none.
    """
    if not table.plot or table.plot.kind != "bar":
        return {}
    column = table.find_column(table.plot.column)
    found = {i: find_number(column.read(row)) for i, row in enumerate(table.rows)}
    longest = max(filter(None, found.values()), default=1)
    return {i: number / longest for i, number in found.items() if number is not None}


def print_cell(value: Cell, format_: Format) -> tuple[str, str]:
    """Return a cell as people read it, and its interval in words; "" if it has none."""
    if value is None or value == "":
        return (NOTHING if format_ != "text" else ""), ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    printer = _PRINTERS.get(format_, str)
    if isinstance(value, OpenEstimate):
        ends = interval(value, printer, _BETWEEN.get(format_, " – "))
        return printer(value.value) + _UNITS.get(format_, ""), ends
    return printer(value) + _UNITS.get(format_, ""), ""
