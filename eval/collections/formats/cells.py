"""Tables that a spreadsheet opens: all CSV files are written here."""

import csv
import io
import re
from collections.abc import Iterable

# What begins a formula, also behind apostrophes, so that taking one away is never ambiguous.
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
DEFUSED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")


def render_table(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV in which no text is a formula: see `defuse`. None is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)  # it ends lines with \r\n; with any other end a lone \r is not quoted
    writer.writerows([defuse(i) if isinstance(i, str) else i for i in row] for row in rows)
    return text.getvalue()


def defuse(cell: str) -> str:
    """Return `cell` so that no spreadsheet takes it for a formula."""
    return f"'{cell}" if FORMULA.match(cell) else cell


def arm(cell: str) -> str:
    """Return the cell that `defuse` was given."""
    return cell[1:] if DEFUSED.match(cell) else cell
