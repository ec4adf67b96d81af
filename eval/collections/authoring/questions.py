"""Questions as people write them down: a table or JSON Lines, with the passage that answers.

A row may have several passages in the column `references`, as a JSON list of `{"content",
"start_index"}`: the form of Chroma's chunking evaluation (Smith and Troynikov, "Evaluating chunking
strategies for retrieval", 2024).
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from assay.eval.collections.formats.cells import arm
from assay.eval.collections.formats.reading import (
    SHOWN,
    pair_cells,
    read_columns,
    read_jsonl,
    read_text,
    split_table,
)
from assay.eval.collections.formats.rows import GRADES, describe_ungraded
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, cut
from assay.retrievers.base.bounds import (
    CELLS,
    ROWS,
    BoundError,
    check_archive,
    check_cell,
)

# What each column may be called, best first.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "text"),
    "quote": ("quote", "passage", "answer"),
    "start": ("start", "start_index"),
    "document": ("document", "path", "file", "corpus_id"),
    "type": ("type",),
    "grade": GRADES,
    "id": ("id", "_id", "query_id"),
}
REFERENCES = "references"  # the column of several passages
KNOWN = {name for names in COLUMNS.values() for name in names}
WHY = "why"  # the column by which a list of unlocated questions is known

NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


@dataclass(frozen=True, slots=True)
class Question:
    """One row: a question and the place of its answer, all as written, "" for nothing.

    `start` is the character of the document at which the quote begins, for one that occurs often.
    """

    line: int
    question: str
    quote: str = ""
    start: str = ""
    document: str = ""
    type: str = ""
    grade: str = ""
    id: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The key that rows of one query share: the id, or the text if there is none."""
        return ("id", self.id) if self.id else ("text", self.question)


class WrittenQuestions(NamedTuple):
    """The rows of a file, and `notes` on what of it is not read."""

    rows: list[Question]
    notes: tuple[str, ...]


def read_questions(path: Path) -> WrittenQuestions:
    """Return the rows of a .csv, .tsv, .xlsx (its first sheet) or .jsonl file.

    Raises AssayError when it cannot be read, has no column of questions, or no row.
    """
    read = {".jsonl": _read_json, ".xlsx": _read_sheet}.get(path.suffix.lower(), _read_table)
    rows = []
    questions = []
    for line, cells in _split_references(path, read(path)):
        picked = {key: _pick(cells, names) for key, names in COLUMNS.items()}
        for key, text in picked.items():
            check_cell(f"{path}:{line}", key, text)
        questions.append(Question(line=line, **picked))
        rows.append(cells)
    _refuse_ungraded(path, rows)
    if not questions:
        raise AssayError(f"{path}: has no questions; add rows, or leave --questions out")
    return WrittenQuestions(questions, tuple(_describe_unread(path, rows)))


def _split_references(
    path: Path, rows: Iterator[tuple[int, dict[str, str]]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield rows of one passage each. Raises AssayError for `references` in another form."""
    for line, cells in rows:
        listed = cells.pop(REFERENCES, "").strip()
        if not listed:
            yield line, cells
            continue
        try:
            references = [
                (item["content"], int(item["start_index"])) for item in json.loads(listed)
            ]
            starts = [start + len(text) - len(text.lstrip()) for text, start in references]
        except (ValueError, TypeError, LookupError, AttributeError):
            starts = []
        if not starts:
            raise AssayError(
                f"{path}:{line}: references: not read: {cut(listed, SHOWN)}; it must be a JSON "
                'list, each item with "content" and "start_index"'
            )
        for (text, _), start in zip(references, starts, strict=True):
            yield line, {**cells, "quote": text, "start": str(start)}


def _refuse_ungraded(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Raise AssayError where no row has a grade, and a column of another name holds numbers."""
    names = dict.fromkeys(name for cells in rows for name in cells)
    if any(name in names for name in GRADES):
        return
    for name in names.keys() - KNOWN:
        written = [cells[name].strip() for cells in rows if cells.get(name, "").strip()]
        if written and all(map(NUMBER.fullmatch, written)):
            raise AssayError(f"{path}: {describe_ungraded(name)}")


def _describe_unread(path: Path, rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a note that names the columns with content that have no meaning here, if any."""
    filled = dict.fromkeys(name for cells in rows for name, cell in cells.items() if cell.strip())
    if WHY in filled:  # the list of questions that were not found
        return
    if unread := [name for name in filled if name not in KNOWN]:
        told = ", ".join(f'"{name}"' for name in unread)
        known = ", ".join((*COLUMNS, REFERENCES))
        yield f"{path}: columns that are not read: {cut(told, SHOWN)}; those that are: {known}"


def _read_json(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for row in read_jsonl(path, Problems(strict=True)):
        cells = {
            key.casefold(): json.dumps(value) if isinstance(value, list) else str(value)
            for key, value in row.values.items()
            if row.has(key)
        }
        _require_question(f"{path}:{row.line}", cells)
        yield row.line, cells


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    text = read_text(path, Problems(strict=True))
    reader = split_table(text)
    names = read_columns(str(path), next(reader, []))
    _require_question(str(path), dict.fromkeys(names, ""))
    ours = WHY in names
    line = reader.line_num + 1
    try:
        for cells in reader:
            cells = list(map(arm, cells)) if ours else cells
            if any(cell.strip() for cell in cells):
                yield line, pair_cells(f"{path}:{line}", names, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise AssayError(f"{path}:{line}: not a table: {error}") from None


def _read_sheet(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    if not path.is_file():
        raise AssayError(f"{path}: there is no such file")
    from openpyxl import load_workbook

    try:
        with ZipFile(path) as archive:
            if excess := check_archive(archive, path.stat().st_size):
                raise BoundError(path, excess)
        sheet = load_workbook(path, read_only=True, data_only=True).worksheets[0]
        sheet.reset_dimensions()  # what a sheet says of its size may be anything
        rows: list[list[str]] = []
        count = 0
        for row in sheet.iter_rows(values_only=True):
            count += len(row)
            if count > CELLS or len(rows) == ROWS:
                raise BoundError(path, f"more than {ROWS:,} rows or {CELLS:,} cells")
            rows.append([_write(cell) for cell in row])
    except BoundError:
        raise
    except Exception as error:  # openpyxl hands on whatever its parsers raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise AssayError(f"{path}: cannot be read as .xlsx: {reason}") from None
    names = read_columns(str(path), rows[0] if rows else [])
    _require_question(str(path), dict.fromkeys(names, ""))
    for line, cells in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in cells):
            yield line, pair_cells(f"{path}:{line}", names, cells)


def _write(cell: Any) -> str:
    """Return the text of a cell of a sheet; a whole number has no decimals."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell)


def _require_question(place: str, cells: Mapping[str, str]) -> None:
    if not any(name in cells for name in COLUMNS["question"]):
        allowed = ", ".join(COLUMNS["question"])
        raise AssayError(
            f"{place}: no column of questions; one must be called {allowed}; "
            f"there are: {cut(', '.join(cells), SHOWN) or 'none'}"
        )


def _pick(cells: Mapping[str, str], names: tuple[str, ...]) -> str:
    if names is GRADES:  # one column has the grades; a blank there is no reason to take another's
        names = tuple(name for name in names if name in cells)[:1]
    return next((cells[name].strip() for name in names if cells.get(name, "").strip()), "")
