"""The table in which people judge pairs of a query and a passage: a CSV for any spreadsheet.

It is UTF-8 with a byte order mark, without which Excel takes it for another encoding, and with
commas; it is read with or without the mark, and with semicolons or tabs too. A cell that a
spreadsheet would take for a formula gets an apostrophe in front, which reading takes away.
"""

import csv
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.eval.collections.formats.cells import arm, render_table
from assay.eval.collections.formats.reading import (
    pair_cells,
    read_columns,
    read_text,
    split_table,
)
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError

COLUMNS = (
    "query_id", "query", "type", "doc_id", "title", "start", "end", "text",
    "grade", "comment", "digest", "collection",
)  # fmt: skip
NEEDED = ("query_id", "doc_id", "start", "end", "grade", "digest")
MOST = 16_000  # characters shown of a passage; Excel tears cells beyond 32,767 UTF-16 units apart
DIGITS = 16  # of a digest, behind a word that keeps it from being read as a number


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and characters `start` to `end` of a document, `text`, to be judged together.

    `title` is the passage's title with the headings above it.
    """

    query_id: str
    query: str
    type: str
    doc_id: str
    title: str
    start: int
    end: int
    text: str

    @property
    def digest(self) -> str:
        """`sha256:` and the first 16 hexadecimal digits of that of query, place and text.

        By it a judgment is refused when any of them, or its row, has changed meanwhile.
        """
        parts = [self.query_id, self.query, self.doc_id, self.start, self.end, self.text]
        return f"sha256:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:DIGITS]}"


def trim(text: str, start: int) -> tuple[int, int]:
    """Return the begin and end of `text`, which begins at `start`, without white space at its ends.

    It is all of the text if it is nothing but white space.
    """
    if not text.strip():
        return start, start + len(text)
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def render(pairs: Iterable[Pair], collection: str) -> bytes:
    """Return the table of `pairs` in their order, with grades and comments to be filled in."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for pair in pairs:
        shown = pair.text if len(pair.text) <= MOST else f"{pair.text[:MOST]} […]"
        cells = (pair.query_id, pair.query, pair.type, pair.doc_id, pair.title)
        place = (str(pair.start), str(pair.end))
        rows.append((*cells, *place, shown, "", "", pair.digest, collection))
    return render_table(rows).encode("utf-8-sig")


def read(path: Path) -> list[Row]:
    """Return the rows of a table, each with its cells as strings at the line it begins on.

    Raises AssayError when it cannot be read or lacks a column.
    """
    text = read_text(path, Problems(strict=True))
    reader = split_table(text, strict=True)
    rows, line = [], 1
    try:
        names = read_columns(f"{path}:1", next(reader, []))
        if missing := [name for name in NEEDED if name not in names]:
            raise AssayError(
                f"{path}:1: lacks the columns {', '.join(missing)}; it must be a table that "
                "`assay pool` wrote, filled in"
            )
        line = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                values = pair_cells(f"{path}:{line}", names, cells)
                rows.append(Row(path, line, {name: arm(cell) for name, cell in values.items()}))
            line = reader.line_num + 1
    except csv.Error as error:
        raise AssayError(f"{path}:{line}: not a table of comma-separated values: {error}") from None
    return rows
