"""Tables of a report as DataFrames and as metrics: full figures, by the keys of their columns."""

import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from assay.eval.report.blocks import Cell, Report, Table
from assay.eval.statistics.estimates import OpenEstimate
from assay.retrievers.base.installation import need_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


def tabulate(table: Table) -> "DataFrame":
    """Return a DataFrame with a row for each row of `table`, named by its first column.

    An estimate becomes three columns: its key, `<key>_low` and `<key>_high`; NaN for a missing end.
    """
    need_pandas()
    from pandas import DataFrame, Index

    first = table.columns[0]
    rows = [dict(_list_cells(table, row)) for row in table.rows]
    columns = list(dict.fromkeys(key for row in rows for key in row)) or [
        column.key for column in table.columns[1:]
    ]
    names = Index([first.read(row) for row in table.rows], name=first.key)
    return DataFrame(rows, index=names, columns=columns)


def list_metrics(report: Report, without: Collection[str] = ()) -> dict[str, float]:
    """Return the figures of all tables by `<table>/<row>/<column>`, with the ends of intervals.

    Texts are left out, and so are the tables whose keys are in `without`.
    """
    return {
        f"{table.key}/{table.columns[0].print(row)[0]}/{key}": float(value)
        for table in report.tables.values()
        if table.key not in without
        for row in table.rows
        for key, value in _list_cells(table, row)
        if isinstance(value, int | float) and not math.isnan(value)
    }


def list_figures(
    report: Report, without: Collection[str] = ()
) -> Iterator[tuple[str, float, float | None, float | None]]:
    """Yield the figures of all tables by `<table>/<row>/<column>`, with the ends of intervals.

    Texts are left out, and so are the tables whose keys are in `without`.
    """
    for table in report.tables.values():
        for row in table.rows if table.key not in without else ():
            name = f"{table.key}/{table.columns[0].print(row)[0]}"
            for column in table.columns[1:]:
                value = column.read(row)
                if isinstance(value, OpenEstimate):
                    yield f"{name}/{column.key}", value.value, value.low, value.high
                elif isinstance(value, int | float):
                    yield f"{name}/{column.key}", float(value), None, None


def _list_cells(table: Table, row: Any) -> Iterator[tuple[str, Cell]]:
    for column in table.columns[1:]:
        value = column.read(row)
        if isinstance(value, OpenEstimate):
            ends = (math.nan if end is None else end for end in (value.low, value.high))
            suffixes = ("", "_low", "_high")
            yield from zip((column.key + i for i in suffixes), (value.value, *ends), strict=True)
        else:
            yield column.key, value
