"""Tables in Markdown: one line per row, and the same number of cells in each."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

MOST_SPANNED = 1000  # columns of one cell, as in browsers
BEFORE_MARKS = re.compile(r"(?<!\\)(\\+)(?=\|)")


def escape_cell(text: str) -> str:
    """Return `text` as the content of a cell: in one line, with its pipes escaped."""
    return BEFORE_MARKS.sub(r"\1\1", " ".join(text.split())).replace("|", r"\|")


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose header is the first of `rows`; blank rows and columns are left out."""
    cells = [[escape_cell(cell) for cell in row] for row in rows]
    used = sorted({i for row in cells for i, cell in enumerate(row) if cell})
    filled = [[row[i] if i < len(row) else "" for i in used] for row in cells if any(row)]
    if not filled:
        return ""
    lines = [filled[0], ["---"] * len(used), *filled[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def prepare_tables(soup: Any) -> None:
    """Change the tables of a page so that each row has its cells where a reader sees them.

    A cell that spans rows is followed by blank ones below it. Pipes are escaped. A table inside a
    cell becomes text.
    """
    for inner in soup.select("td table, th table"):
        for part in inner.find_all(["table", "thead", "tbody", "tfoot", "tr", "td", "th"]):
            part.name = "span"
            part.append(" ")
        inner.name = "span"
    for text in soup.find_all(string=re.compile(r"\|")):
        if text.find_parent(["td", "th"]):
            text.replace_with(BEFORE_MARKS.sub(r"\1\1", text).replace("|", r"\|"))
    for table in soup.find_all("table"):
        groups = table.find_all(["thead", "tbody", "tfoot"]) or [table]
        for group in groups:
            _fill_spans(soup, group.find_all("tr"))


def _fill_spans(soup: Any, rows: Sequence[Any]) -> None:
    waiting: dict[int, int] = {}  # rows that a cell above still takes, by column
    for row in rows:
        cells = row.find_all(["td", "th"])
        kind = "th" if all(cell.name == "th" for cell in cells) else "td"
        column = 0
        for cell in chain(cells, [None]):
            while waiting.get(column):
                waiting[column] -= 1
                column += 1
                blank = soup.new_tag(kind)
                if cell:
                    cell.insert_before(blank)
                else:
                    row.append(blank)
            if cell:
                width = min(_read_span(cell, "colspan"), MOST_SPANNED)
                height = _read_span(cell, "rowspan")
                waiting |= dict.fromkeys(range(column, column + width), height - 1)
                column += width


def _read_span(cell: Any, name: str) -> int:
    value = str(cell.get(name, "")).strip()
    return max(1, int(value)) if value.isdecimal() and len(value) < 6 else 1
