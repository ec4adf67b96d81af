"""The content-addressed cache: small values in SQLite, indexes in folders.

Whatever is stored under a key never changes, so readers need no lock, and may read where nothing
can be written. A writer killed at any moment leaves either the whole entry or none; a database that
is no longer one is set aside and made anew.
"""

import json
import os
import secrets
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, TypeVar

from filelock import BaseFileLock, FileLock

from retrievers.base import AssayError
from retrievers.base.suggestions import suggest
from retrievers.store.files import writing

T = TypeVar("T")

META = "assay.json"
KEYS_PER_SELECT = 500
BUSY_SECONDS = 60.0
SUFFIXES = ("", "-wal", "-shm")  # of a database, its log and its index to that
BROKEN = ".broken-"


@dataclass(frozen=True, slots=True)
class Folder:
    """A cached folder: where it lies, the seconds its making took, whether it was there before."""

    path: Path
    seconds: float
    cached: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What one kind of entry takes: number of entries and bytes on disk."""

    kind: str
    entries: int
    bytes: int


def default_root() -> Path:
    """Return `$ASSAY_CACHE`, or `assay` in the user's cache folder."""
    if root := os.environ.get("ASSAY_CACHE"):
        return Path(root).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "assay"


class Cache:
    """Entries below `root`, by kind (`embeddings`, `bm25`, …) and key (a digest)."""

    # The databases that this process knows to have their table and journal mode.
    _ready: ClassVar[set[Path]] = set()
    _preparing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AssayError(f"{root}: the cache folder cannot be made: {error.strerror}") from None

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the stored values of those `keys` that have one. Nothing is written for it."""
        wanted = list(dict.fromkeys(keys))

        def read(database: sqlite3.Connection) -> dict[str, bytes]:
            found: dict[str, bytes] = {}
            for begin in range(0, len(wanted), KEYS_PER_SELECT):
                part = wanted[begin : begin + KEYS_PER_SELECT]
                marks = ",".join("?" * len(part))
                found.update(
                    database.execute(f"SELECT key, value FROM items WHERE key IN ({marks})", part)
                )
            return found

        return self._read(kind, read, {})

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Store `items` in one transaction; a key stored before keeps its value.

        Raises AssayError where the cache cannot be written.
        """
        if not items:
            return

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.executemany("INSERT OR IGNORE INTO items VALUES (?, ?)", items.items())

        self._write(kind, write)

    def folder(self, kind: str, key: str, make: Callable[[Path], None]) -> Folder:
        """Return the folder stored under `key`; if there is none, let `make` fill a new one.

        Of several processes that want the same folder one makes it and the others wait.
        """
        path = self.root / kind / key
        if _read_seconds(path) is None:
            with writing(path):
                path.parent.mkdir(exist_ok=True)
                lock = FileLock(path.with_suffix(".lock")).acquire()
            with lock, writing(path):
                if _read_seconds(path) is None:
                    return Folder(path, self._make_folder(path, make), cached=False)
        return Folder(path, _read_seconds(path) or 0.0, cached=True)

    def load(
        self, kind: str, key: str, make: Callable[[Path], None], read: Callable[[Path], T]
    ) -> tuple[Folder, T]:
        """Return the folder as `folder` does, and what `read` makes of it.

        A folder that was there and cannot be read is made anew: a disk may fail, a file be lost.
        """
        folder = self.folder(kind, key, make)
        try:
            return folder, read(folder.path)
        except Exception:
            if not folder.cached:
                raise
        with writing(folder.path):
            (folder.path / META).unlink(missing_ok=True)
        folder = self.folder(kind, key, make)
        return folder, read(folder.path)

    def usage(self) -> list[Usage]:
        """Return what each kind takes, by name."""
        return [self._usage_of(kind) for kind in self._kinds()]

    def clear(self, kind: str | None = None) -> list[Usage]:
        """Remove the entries of `kind`, or of all kinds, and return what was removed."""
        if kind is not None and kind not in self._kinds():
            allowed = ", ".join(self._kinds()) or "none, the cache is empty"
            near = suggest(kind, self._kinds())
            raise AssayError(f"{kind}: no such kind of cache entry; there are: {allowed}{near}")
        removed = [usage for usage in self.usage() if kind in (None, usage.kind)]
        for usage in removed:
            shutil.rmtree(self.root / usage.kind, ignore_errors=True)
            self._ready.discard(self._database(usage.kind))
            with writing(self.root):
                for path in self.root.glob(f"{usage.kind}.sqlite{BROKEN}*"):
                    path.unlink()
                for suffix in SUFFIXES:
                    Path(f"{self._database(usage.kind)}{suffix}").unlink(missing_ok=True)
        return removed

    def _make_folder(self, path: Path, make: Callable[[Path], None]) -> float:
        partial = path.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)  # what a killed process left
        partial.mkdir()
        begin = time.perf_counter()
        try:
            make(partial)
            seconds = time.perf_counter() - begin
            (partial / META).write_text(json.dumps({"seconds": seconds}))
            shutil.rmtree(path, ignore_errors=True)  # what could not be read
            partial.rename(path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return seconds

    def _kinds(self) -> list[str]:
        databases = {path.stem for path in self.root.glob("*.sqlite")}
        folders = {path.name for path in self.root.iterdir() if path.is_dir()}
        return sorted(databases | folders)

    def _usage_of(self, kind: str) -> Usage:
        folder = self.root / kind
        entries = len(list(folder.glob(f"*/{META}")))
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if self._database(kind).exists():
            size += self._database(kind).stat().st_size
            count = "SELECT count(*) FROM items"
            entries += self._read(kind, lambda database: database.execute(count).fetchone()[0], 0)
        return Usage(kind, entries, size)

    def _database(self, kind: str) -> Path:
        return self.root / f"{kind}.sqlite"

    def _read(self, kind: str, read: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        """Return what `read` finds; `nothing` where there is no database, or none that is whole."""
        path = self._database(kind)
        if not path.exists():
            return nothing
        try:
            with closing(_open_to_read(path)) as database:
                return read(database)
        except sqlite3.DatabaseError as error:
            if _is_broken(error):
                self._set_aside(path, error)
            # Another set it aside in this moment, or a writer was killed before it made a table.
            elif not any(told in str(error) for told in ("unable to open", "no such table")) or (
                path.exists() and not os.access(path, os.R_OK)
            ):
                raise AssayError(f"{path}: cannot be read: {error}") from error
        return nothing

    def _write(self, kind: str, write: Callable[[sqlite3.Connection], None]) -> None:
        path = self._database(kind)
        try:
            try:
                self._write_once(path, write)
            except sqlite3.DatabaseError as error:
                if not _is_broken(error):
                    raise
                self._set_aside(path, error)
                self._write_once(path, write)
        except sqlite3.Error as error:
            raise AssayError(f"{path}: cannot be written: {error}") from error

    def _write_once(self, path: Path, write: Callable[[sqlite3.Connection], None]) -> None:
        with self._preparing:
            if path not in self._ready or not path.exists():
                with writing(path):
                    _prepare(path)
                self._ready.add(path)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("PRAGMA synchronous=NORMAL")
            write(database)

    def _set_aside(self, path: Path, error: Exception) -> None:
        """Rename a database that cannot be read, and say so: what it held is made again.

        Of several processes and threads that find it broken, one does it: to the others, which come
        after, it is gone, or whole again.
        """
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
    """Open a database so that nothing is written, beside it neither.

    Where nothing can be written, and no process has left its log, it is read as it is.
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
    """Whether there is a database, and not a whole one: all of it is read for that."""
    if not path.exists():
        return False
    try:
        with closing(_open_to_read(path)) as database:
            row = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return _is_broken(error)
    return bool(row != ("ok",))


def _lock(path: Path) -> BaseFileLock:
    """Return the lock of those who make a database, or set it aside."""
    return FileLock(path.with_suffix(".sqlite.lock"))


def _prepare(path: Path) -> None:
    """Make a database with its journal mode and its table, or see that the one there has them.

    A new one gets its name when it is whole: who reads meets either none or all of it. SQLite waits
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
        database.execute("CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY, value BLOB)")


def _read_seconds(path: Path) -> float | None:
    """Return the seconds that the making of a folder took; None where it is not whole."""
    try:
        return float(json.loads((path / META).read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
