"""The databases of the cache: small values by key, one file per kind.

One that is no longer a database is set aside and made again.
"""

import os
import secrets
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, TypeVar

from filelock import BaseFileLock, FileLock

from assay.retrievers.base import AssayError
from assay.retrievers.store.files import writing

T = TypeVar("T")

BUSY_SECONDS = 60.0
SUFFIXES = ("", "-wal", "-shm")  # of a database, its log and its index to that
BROKEN = ".broken-"
TABLE = "checked"  # keys, values, and the CRC-32 of each value


class Database:
    """A file with the table `TABLE`, made when first something is written."""

    # Those that this process knows to have their table and journal mode.
    _ready: ClassVar[set[Path]] = set()
    _preparing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path

    def remove(self) -> None:
        """Remove the file, and the files next to it that belong to it."""
        self._ready.discard(self.path)
        with writing(self.path.parent):
            for path in self.path.parent.glob(f"{self.path.name}{BROKEN}*"):
                path.unlink()
            for suffix in SUFFIXES:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def read(self, read: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        """Return the result of `read`; `nothing` if there is no database, or a damaged one.

        Raises AssayError if it cannot be read.
        """
        path = self.path
        if not path.exists():
            return nothing
        try:
            with closing(_open_to_read(path)) as database:
                return read(database)
        except sqlite3.DatabaseError as error:
            if _is_broken(error):
                self._set_aside(error)
            # Another set it aside in this moment, or a writer was killed before it made a table.
            elif not any(told in str(error) for told in ("unable to open", "no such table")) or (
                path.exists() and not os.access(path, os.R_OK)
            ):
                raise AssayError(f"{path}: cannot be read: {error}") from error
        return nothing

    def write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Let `write` change the database. Raises AssayError if it cannot be written."""
        try:
            try:
                self._write_once(write)
            except sqlite3.DatabaseError as error:
                if not _is_broken(error):
                    raise
                self._set_aside(error)
                self._write_once(write)
        except sqlite3.Error as error:
            raise AssayError(f"{self.path}: cannot be written: {error}") from error

    def _write_once(self, write: Callable[[sqlite3.Connection], None]) -> None:
        path = self.path
        with self._preparing:
            if path not in self._ready or not path.exists():
                with writing(path):
                    _prepare(path)
                self._ready.add(path)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("PRAGMA synchronous=NORMAL")
            write(database)

    def _set_aside(self, error: Exception) -> None:
        """Rename a database that cannot be read, and report it: its content is made again.

        If several processes and threads find it broken, one renames it: for the others it is then
        gone, or whole again.
        """
        path = self.path
        now = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
        aside = path.with_name(f"{path.name}{BROKEN}{now}-{secrets.token_hex(4)}")
        with self._preparing, writing(path), _lock(path):
            if not _is_still_broken(path):
                return
            try:
                path.rename(aside)
            except FileNotFoundError:  # cleared by another process, which holds no lock for it
                return
            for suffix in SUFFIXES[1:]:  # of a database that is no more
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            self._ready.discard(path)
        print(f"warning: {path}: {error}; set aside as {aside.name}, made anew", file=sys.stderr)


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open a database so that nothing is written, not even next to it.

    If the folder is not writable, and no process has left its log, the file is read as it is.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        address += "&immutable=1"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def _is_still_broken(path: Path) -> bool:
    """Return True if there is a database and it is damaged; this reads all of it."""
    if not path.exists():
        return False
    try:
        with closing(_open_to_read(path)) as database:
            row = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return _is_broken(error)
    return bool(row != ("ok",))


def _lock(path: Path) -> BaseFileLock:
    """Return the lock for making a database, or setting it aside."""
    return FileLock(path.with_suffix(".sqlite.lock"))


def _prepare(path: Path) -> None:
    """Make a database with its journal mode and its table, or see that the one there has them.

    A new one gets its name when it is whole: readers see either none or all of it. SQLite waits
    for no lock when it changes the journal mode, so one process at a time does it.
    """
    with _lock(path):
        if path.exists():
            _make_table(path)
            return
        partial = path.with_suffix(".sqlite.partial")
        for left in (partial, path):  # by a process killed meanwhile
            for suffix in SUFFIXES:
                Path(f"{left}{suffix}").unlink(missing_ok=True)
        _make_table(partial)
        partial.rename(path)


def _make_table(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
        if database.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            database.execute("PRAGMA journal_mode=WAL")
        columns = "key TEXT PRIMARY KEY, value BLOB, checksum INTEGER"
        database.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns})")
