"""The SQLite file of the grades that people gave on the page; a killed process loses none.

When a call returns, its grade is on the disk, in this file alone: SQLite synchronises file, journal
and folder at each commit. A write-ahead log would keep the latest grades in a second file, and
switching it on fails if several judges start at the same time. Grades are only added, and a judge's
latest grade counts, so undoing it restores the previous one.
"""

import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError

PATIENCE = 30  # seconds that a write waits for writes of other judges
APPLICATION = 0x61737379  # "assy": marks the files written by Assay
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION}",
    """CREATE TABLE IF NOT EXISTS grades (
    id INTEGER PRIMARY KEY, pair TEXT NOT NULL, judge TEXT NOT NULL, grade INTEGER NOT NULL,
    span_start INTEGER, span_end INTEGER, settles INTEGER NOT NULL, at TEXT NOT NULL
)""",
    """CREATE TABLE IF NOT EXISTS notes (
    pair TEXT NOT NULL, judge TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (pair, judge)
)""",
)


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a judge for a pair.

    Attributes:
        number: The number of the grade in the file, larger for later grades.
        judge: The name of the judge.
        grade: The grade, 0 for not relevant.
        span: The part that answers, in characters of the document; None for the whole passage.
        at: The time in UTC.
    """

    number: int
    judge: str
    grade: int
    span: tuple[int, int] | None
    at: str


class GradeFile:
    """Grades and notes by the digest of a pair; several threads and processes may write.

    Raises AssayError if the file is not a file of grades, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._base.execute("PRAGMA synchronous = EXTRA")
            self._create()
        except sqlite3.Error as error:
            raise AssayError(f"{path}: cannot be used as a file of grades: {error}") from None

    def _create(self) -> None:
        """Create missing tables in one transaction, because several judges may start at once."""
        self._base.execute("BEGIN IMMEDIATE")
        (found,) = self._base.execute("PRAGMA application_id").fetchone()
        (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and found != APPLICATION:
            self._base.close()
            raise AssayError(f"{self.path}: is there already, and is no file of grades")
        for statement in SCHEMA:
            self._base.execute(statement)
        self._base.execute("COMMIT")

    def close(self) -> None:
        """Close the file. All grades are on the disk already; later calls raise AssayError."""
        with self._lock:  # closing while another thread uses SQLite would crash the process
            self._base.close()

    def add(
        self,
        pair: str,
        judge: str,
        grade: int,
        span: tuple[int, int] | None = None,
        *,
        settles: bool = False,
    ) -> None:
        """Store a grade; one that `settles` decides between the judges of the pair."""
        start, end = span or (None, None)
        self._run(
            "INSERT INTO grades (pair, judge, grade, span_start, span_end, settles, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (pair, judge, grade, start, end, settles, _now()),
        )

    def undo(self, judge: str) -> str | None:
        """Undo the latest grade of a judge; return its pair, or None if there is no grade."""
        found = self._run(
            "DELETE FROM grades WHERE id = (SELECT max(id) FROM grades WHERE judge = ?) "
            "RETURNING pair",
            (judge,),
        )
        return str(found[0][0]) if found else None

    def note(self, pair: str, judge: str, note: str) -> None:
        """Store a note, replacing an earlier one."""
        self._run("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", (pair, judge, note, _now()))

    def read_grades(self) -> dict[str, dict[str, Grade]]:
        """Return the latest grade by pair and judge."""
        return self._read(settles=False)

    def read_settled(self) -> dict[str, Grade]:
        """Return the settling grade of each pair that no judge has graded again since."""
        graded = self.read_grades()
        found: dict[str, Grade] = {}
        for pair, by_judge in self._read(settles=True).items():
            latest = max(by_judge.values(), key=lambda grade: grade.number)
            if all(one.number < latest.number for one in graded.get(pair, {}).values()):
                found[pair] = latest
        return found

    def read_notes(self) -> dict[str, dict[str, str]]:
        """Return the notes that are not empty, by pair and judge."""
        notes: dict[str, dict[str, str]] = {}
        for pair, judge, note in self._run(
            "SELECT pair, judge, note FROM notes WHERE note <> '' ORDER BY judge", ()
        ):
            notes.setdefault(pair, {})[judge] = note
        return notes

    def _read(self, *, settles: bool) -> dict[str, dict[str, Grade]]:
        found: dict[str, dict[str, Grade]] = {}
        for pair, number, judge, grade, start, end, i in self._run(
            "SELECT pair, id, judge, grade, span_start, span_end, at FROM grades "
            "WHERE settles = ? ORDER BY id",
            (settles,),
        ):
            span = None if start is None else (start, end)
            found.setdefault(pair, {})[judge] = Grade(number, judge, grade, span, i)
        return found

    def _run(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._base.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise AssayError(f"{self.path}: {error}") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
