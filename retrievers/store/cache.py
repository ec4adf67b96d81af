"""The content-addressed cache: small values in SQLite, indexes in folders.

Whatever is stored under a key never changes, so readers need no lock, and may read where nothing
can be written. A writer killed at any moment leaves either the whole entry or none; a database that
is no longer one is set aside and made anew.
"""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from filelock import FileLock

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.store.database import Database
from assay.retrievers.store.files import writing

T = TypeVar("T")

META = "assay.json"
KEYS_PER_SELECT = 500
SECONDS_HELD = 1.0  # for which values are gathered: what a killed process loses at most


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

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AssayError(
                f"{root}: the cache folder cannot be made: {error.strerror}; set ASSAY_CACHE to "
                "one that can"
            ) from None

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

        return self._database(kind).read(read, {})

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Store `items` in one transaction; a key stored before keeps its value.

        Raises AssayError where the cache cannot be written.
        """
        if not items:
            return

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.executemany("INSERT OR IGNORE INTO items VALUES (?, ?)", items.items())

        self._database(kind).write(write)

    def folder(self, kind: str, key: str, make: Callable[[Path], None]) -> Folder:
        """Return the folder stored under `key`; if there is none, let `make` fill a new one.

        Of several processes that want the same folder one makes it and the others wait.
        """
        path = self.root / kind / key
        if _read_seconds(path) is None:
            with _locked(path):
                if _read_seconds(path) is None:
                    return Folder(path, self._make_folder(path, make), cached=False)
        return Folder(path, _read_seconds(path) or 0.0, cached=True)

    def remake(self, kind: str, key: str, make: Callable[[Path], None]) -> Folder:
        """Return the folder stored under `key`, made anew: what was there stays until it is."""
        path = self.root / kind / key
        with _locked(path):
            return Folder(path, self._make_folder(path, make), cached=False)

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
            self._database(usage.kind).remove()
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
        folders = {path.name for path in self.root.glob("[!.]*") if path.is_dir()}
        return sorted(databases | folders)

    def _usage_of(self, kind: str) -> Usage:
        folder = self.root / kind
        entries = len(list(folder.glob(f"*/{META}")))
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        database = self._database(kind)
        if database.path.exists():
            size += database.path.stat().st_size
            count = "SELECT count(*) FROM items"
            entries += database.read(lambda opened: opened.execute(count).fetchone()[0], 0)
        return Usage(kind, entries, size)

    def _database(self, kind: str) -> Database:
        return Database(self.root / f"{kind}.sqlite")


class BatchedWrites:
    """Values that are stored together: a second's at once, and the rest on leaving.

    A transaction costs about as much as a hundred values in it. Kinds are stored in the order in
    which they came first.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._items: dict[str, dict[str, bytes]] = {}
        self._stored = time.monotonic()

    def add(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Gather values of `kind`."""
        self._items.setdefault(kind, {}).update(items)

    def store(self) -> None:
        """Store what is gathered. Raises AssayError where the cache cannot be written."""
        gathered, self._items = self._items, {}
        for kind, items in gathered.items():
            self._cache.put_many(kind, items)
        self._stored = time.monotonic()

    def store_in_time(self) -> None:
        """Store what is gathered if the last time was a second ago. Raises as `store` does."""
        if time.monotonic() - self._stored >= SECONDS_HELD:
            self.store()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from making the folder at `path`."""
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        lock = FileLock(path.with_suffix(".lock")).acquire()
    with lock, writing(path):
        yield


def _read_seconds(path: Path) -> float | None:
    """Return the seconds that the making of a folder took; None where it is not whole."""
    try:
        return float(json.loads((path / META).read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
