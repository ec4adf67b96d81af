"""Sheets as their readers see them: Excel workbooks and files of values between delimiters."""

import csv
import io
import re
import zipfile
from collections import Counter
from typing import Any

from assay.retrievers.documents.conversion.number_formats import show
from assay.retrievers.documents.conversion.tables import render_table

DELIMITERS = ",;\t|"
SAMPLE = 64 << 10  # characters that the delimiter is guessed from
STATED = re.compile(r"sep=(.)\r?\n", re.I)  # as Excel states it


def read_workbook(data: bytes) -> tuple[str, list[str]]:
    """Return the visible cells of a workbook, a table per sheet, and notes on hidden parts.

    A formula without a stored result, which a program may omit, is shown as written.
    """
    import openpyxl

    workbook = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    formulas = openpyxl.load_workbook(io.BytesIO(data)) if _has_formulas(data) else None
    hidden = [sheet.title for sheet in workbook.worksheets if sheet.sheet_state != "visible"]
    notes = [f'the hidden sheet "{title}" is left out' for title in hidden]
    parts = []
    for sheet in workbook.worksheets:
        if sheet.title in hidden:
            continue
        rows, left_out = _read_sheet(sheet, formulas[sheet.title] if formulas else None)
        if left_out:
            notes.append(f'{left_out} hidden cells of the sheet "{sheet.title}" are left out')
        if table := render_table(rows):
            parts.append(f"## {sheet.title}\n\n{table}")
    return "\n\n".join(parts), notes


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = (name for name in archive.namelist() if name.startswith("xl/worksheets/"))
        return any(b"<f" in archive.read(name) for name in names)


def _read_sheet(sheet: Any, formulas: Any) -> tuple[list[list[str]], int]:
    """Return the rows of texts that a sheet shows, and the number of hidden cells with a value."""
    rows: dict[int, dict[int, str]] = {}
    hidden_columns = {
        column
        for dimension in sheet.column_dimensions.values()
        if dimension.hidden
        for column in range(dimension.min or 0, (dimension.max or 0) + 1)
    }
    hidden_rows = {row for row, dimension in sheet.row_dimensions.items() if dimension.hidden}
    hidden = 0
    # Of `iter_rows`, a single cell far down would make all that are above it.
    for (row, column), cell in sorted(sheet._cells.items()):
        value = cell.value
        if value is None and formulas is not None:
            value = _read_formula(formulas._cells.get((row, column)))
        if value is None:
            continue
        if row in hidden_rows or column in hidden_columns:
            hidden += 1
            continue
        rows.setdefault(row, {})[column] = show(value, cell.number_format)
    width = max((max(cells) for cells in rows.values()), default=0)
    return [[cells.get(i, "") for i in range(1, width + 1)] for cells in rows.values()], hidden


def _read_formula(cell: Any) -> str | None:
    value = getattr(cell, "value", None)
    return getattr(value, "text", value)  # of a formula for several cells


def read_values(text: str) -> str:
    """Return the rows of a file of values between delimiters as one table. Raises csv.Error."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    text = text.removeprefix("\ufeff")
    if stated := STATED.match(text):
        return render_table(_split(text[stated.end() :], stated[1]))
    sample = text[:SAMPLE]
    return render_table(_split(text, max(DELIMITERS, key=lambda mark: _rate(sample, mark))))


def _split(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def _rate(text: str, delimiter: str) -> tuple[float, int]:
    """Return the share of rows with the most common number of columns, if that is above 1."""
    widths = Counter(len(row) for row in _split(text, delimiter) if row)
    width, rows = widths.most_common(1)[0] if widths else (1, 0)
    return (rows / widths.total(), width) if width > 1 else (0.0, 0)
