"""Figures as DataFrames, and DataFrames as HTML."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from eval.report.formats import score
from eval.statistics.estimates import Estimate

if TYPE_CHECKING:
    from pandas import DataFrame


def tabulate_estimates(estimates: Mapping[str, Estimate], index: str, value: str) -> "DataFrame":
    """Return a row an estimate, by name: `value`, `low`, `high` and `n`."""
    from pandas import DataFrame, Index

    rows = [[item.value, item.low, item.high, item.n] for item in estimates.values()]
    names = Index(list(estimates), name=index)
    return DataFrame(rows, index=names, columns=[value, "low", "high", "n"])


def tabulate_grid(
    grid: Mapping[str, Mapping[str, Estimate]], index: str, value: str
) -> "DataFrame":
    """Return a row a key of `grid`; below each inner key the columns `value`, `low` and `high`."""
    from pandas import DataFrame, Index, MultiIndex

    names = list(next(iter(grid.values()), {}))
    rows = [
        [number for name in names for number in (row[name].value, row[name].low, row[name].high)]
        for row in grid.values()
    ]
    columns = MultiIndex.from_product([names, [value, "low", "high"]])
    return DataFrame(rows, index=Index(list(grid), name=index), columns=columns)


def render(title: str, notes: Iterable[str], table: "DataFrame") -> str:
    """Return a titled table as HTML; whatever comes from documents and configs is escaped."""
    lines = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<div><b>{escape(title)}</b></div>{lines}{table.to_html(float_format=score)}"
