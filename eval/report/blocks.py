"""What a report is made of. Each face shows these blocks in its own way, and nothing beside them.

A cell holds a plain value: a text, a number, an estimate with its interval, or None where there is
nothing. How it is printed is said once, by its column; a column's `key` names it in DataFrames and
MLflow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from assay.eval.report.formats import amount, interval, p_value, percent, score, signed, size
from assay.eval.statistics.estimates import OpenEstimate

Format = Literal[
    "text", "score", "difference", "p", "count", "change", "ms", "ms change", "usd", "percent",
    "size", "number",
]  # fmt: skip
Tone = Literal["", "better", "worse"]
PlotKind = Literal["whisker", "difference"]
Cell = str | int | float | bool | OpenEstimate | None

NOTHING = "–"
_PRINTERS: Mapping[str, Callable[[Any], str]] = {
    "score": score,
    "difference": signed,
    "p": p_value,
    "count": "{:,}".format,
    "change": lambda value: f"{'−' if value < 0 else '+'}{abs(value):,.0f}",
    "ms": amount,
    "ms change": lambda value: f"{'−' if value < 0 else '+'}{amount(abs(value))}",
    "usd": lambda value: f"{value:,.2f}" if value >= 1 else f"{value:.2g}",
    "percent": percent,
    "size": size,
    "number": "{:,.6g}".format,
}
# Between the ends of an interval: with signs a dash would be read as one.
_BETWEEN = {"difference": " … ", "ms change": " … "}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `value` gives the cell of a row; by default it is the attribute `key`, which may be dotted.
    `brief` columns are shown on a terminal without --full. `tone` colours a cell, and `link` is an
    address that it leads to, "" for none, as seen from the page.
    """

    key: str
    heading: str
    format: Format = "text"
    value: Callable[[Any], Cell] | None = None
    brief: bool = True
    tone: Callable[[Any], Tone] | None = None
    link: Callable[[Any], str] | None = None

    def read(self, row: Any) -> Cell:
        """Return the cell of `row`."""
        return (self.value or attrgetter(self.key))(row)

    def print(self, row: Any) -> tuple[str, str]:
        """Return the cell of `row` as people read it, and its interval in words, "" without."""
        return print_cell(self.read(row), self.format)

    @property
    def numeric(self) -> bool:
        """Whether its cells are figures, which stand to the right."""
        return self.format != "text"


@dataclass(frozen=True)
class Plot:
    """The estimates of a column, drawn beside its table.

    Differences have 0 in the middle of their axis, others lie from 0 to 1 or to the largest.
    `band` gives how far around 0 a difference of a row would not be shown.
    """

    column: str
    kind: PlotKind = "difference"
    band: Callable[[Any], float | None] | None = None


@dataclass(frozen=True)
class Scatter:
    """Rows drawn by the figures of two columns, less `across` and more `down` being better.

    Where `log`, the axis across is logarithmic; `front` says which rows are picked out.
    """

    title: str
    across: str
    down: str
    log: bool = False
    front: Callable[[Any], bool] = lambda _: True


@dataclass(frozen=True)
class Table:
    """Rows of the same columns, of which the first names the row. `key` names it in Python.

    `plot` is drawn beside the rows, `scatters` below them. With `shaded`, a cell with a figure is
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


Block = Table | Facts | Prose


@dataclass(frozen=True)
class Report:
    """What was found, for people: `verdict` in sentences, what to check first, then the blocks.

    `subject` says of what in a few words each, `description` is the user's own; `next` are calls of
    assay that come next.
    """

    id: str
    kind: str
    title: str
    verdict: Sequence[str]
    subject: Sequence[str] = ()
    warnings: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    next: Sequence[str] = ()
    description: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by key."""
        return {block.key: block for block in self.blocks if isinstance(block, Table)}


def find_number(value: Cell) -> float | None:
    """Return the number of a cell, of an estimate its value; None where it holds none."""
    if isinstance(value, OpenEstimate):
        return value.value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def print_cell(value: Cell, format_: Format) -> tuple[str, str]:
    """Return a cell as people read it, and its interval in words; "" where it has none."""
    if value is None or value == "":
        return (NOTHING if format_ != "text" else ""), ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    printer = _PRINTERS.get(format_, str)
    if isinstance(value, OpenEstimate):
        ends = interval(value, printer, _BETWEEN.get(format_, " – "))
        return printer(value.value), ends
    return printer(value), ""
