"""Cells of a table that a spreadsheet opens."""

import re

# What begins a formula, also behind apostrophes, so that taking one away is never ambiguous.
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
DEFUSED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")


def defuse(cell: str) -> str:
    """Return `cell` so that no spreadsheet takes it for a formula."""
    return f"'{cell}" if FORMULA.match(cell) else cell


def arm(cell: str) -> str:
    """Return the cell that `defuse` was given."""
    return cell[1:] if DEFUSED.match(cell) else cell
