"""Figures as DataFrames, and DataFrames as HTML."""

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from assay.eval.report.formats import score
from assay.eval.statistics.estimates import OpenEstimate
from assay.retrievers.base.installation import need_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


def tabulate_estimates(
    estimates: Mapping[str, OpenEstimate], index: str, value: str
) -> "DataFrame":
    """Return one row per estimate, by name: `value`, `low`, `high`, `n`; NaN for a missing end."""
    need_pandas()
    from pandas import DataFrame, Index

    rows = [
        [item.value, *(math.nan if end is None else end for end in (item.low, item.high)), item.n]
        for item in estimates.values()
    ]
    names = Index(list(estimates), name=index)
    return DataFrame(rows, index=names, columns=[value, "low", "high", "n"])


def render(title: str, notes: Iterable[str], table: "DataFrame", bars: str = "") -> str:
    """Return a titled table as HTML; whatever comes from documents and configs is escaped.

    `bars` is HTML already, and comes last.
    """
    lines = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<div><b>{escape(title)}</b></div>{lines}{table.to_html(float_format=score)}{bars}"
