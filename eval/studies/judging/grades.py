"""The file of the grades that people gave on the page: SQLite, safe from a kill.

A call that returns has its grade on the disk, in this file alone: SQLite synchronises file, journal
and folder at each commit. A write-ahead log would hold the latest grades beside the file, and
switching it on fails where judges start together. Grades are only added, and the latest of a judge
counts, so that undoing brings back the one before.
"""

import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError

PATIENCE = 30  # seconds that a grade waits for those of other judges
APPLICATION = 0x61737379  # "assy": which files are ours
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
    """What a judge gave: `span` is what answers, in characters of the document, None for all of
    the passage. `number` counts the grades of the file, and `at` is the time in UTC.
    """

    number: int
    judge: str
    grade: int
    span: tuple[int, int] | None
    at: str


class GradeFile:
    """Grades and notes by the digest of a pair; several threads and processes may write.

    Raises AssayError where the file is none of these, or cannot be written.
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
        """Make the tables unless they are there, in one go: judges may start together."""
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
        """End it; what was given is on the disk already, and a later call raises AssayError."""
        with self._lock:  # a thread that SQLite serves would end the process
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
        """Keep a grade; one that `settles` decides between the judges of the pair."""
        start, end = span or (None, None)
        self._run(
            "INSERT INTO grades (pair, judge, grade, span_start, span_end, settles, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (pair, judge, grade, start, end, settles, _now()),
        )

    def undo(self, judge: str) -> str | None:
        """Take back the latest grade of a judge; return its pair, None where there is none."""
        found = self._run(
            "DELETE FROM grades WHERE id = (SELECT max(id) FROM grades WHERE judge = ?) "
            "RETURNING pair",
            (judge,),
        )
        return str(found[0][0]) if found else None

    def note(self, pair: str, judge: str, note: str) -> None:
        """Keep a note in place of the one before."""
        self._run("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", (pair, judge, note, _now()))

    def read_grades(self) -> dict[str, dict[str, Grade]]:
        """Return the latest grade by pair and judge."""
        return self._read(settles=False)

    def read_settled(self) -> dict[str, Grade]:
        """Return the grade that settles a pair, where no judge has graded it anew since."""
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
