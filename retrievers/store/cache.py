"""The content-addressed cache: small values in SQLite, indexes in folders.

The value of a key never changes, so readers need no lock, and may read a read-only cache. A writer
killed at any moment leaves either the whole entry or none; a damaged database is set aside and made
again, and so is a folder whose files differ from their seal. Both are reported on standard error.
"""

import json
import os
import shutil
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from filelock import FileLock

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.store.database import TABLE, Database
from assay.retrievers.store.files import writing
from assay.retrievers.store.seals import SealedFile, find_changed, seal

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
    """The size of one kind of entry: number of entries and bytes on disk."""

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
        """Return the stored values of those `keys` that have one.

        Nothing is written for it, unless a value is not as it was stored: it is removed.
        """
        wanted = list(dict.fromkeys(keys))
        database = self._database(kind)
        nothing: dict[str, bytes | None] = {}
        found = database.read(lambda opened: _select(opened, wanted), nothing)
        damaged = [key for key, value in found.items() if value is None]
        if damaged:
            number = f"{len(damaged)} value{'s' * (len(damaged) > 1)} not as stored"
            _warn(database.path, f"{number}, as of {damaged[0]}")
            with suppress(AssayError):  # read-only: made anew each time
                database.write(lambda opened: _delete(opened, damaged))
        return {key: value for key, value in found.items() if value is not None}

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Store `items` in one transaction; a key stored before keeps its value.

        Raises AssayError if the cache cannot be written.
        """
        if not items:
            return

        def write(database: sqlite3.Connection) -> None:
            with database:
                rows = ((key, value, zlib.crc32(value)) for key, value in items.items())
                database.executemany(f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?)", rows)

        self._database(kind).write(write)

    def folder(
        self, kind: str, key: str, make: Callable[[Path], None], *, sealed: bool = True
    ) -> Folder:
        """Return the folder stored under `key`; if there is none, let `make` fill a new one.

        If several processes need the same folder, one makes it and the others wait. A damaged
        folder is made again, unless it was not `sealed`: then the caller checks its files.
        """
        path = self.root / kind / key
        seconds, damage = _check(path)
        if seconds is None:
            with _locked(path):
                # Another process may have made it anew; a sampled block would be another one.
                seconds, damage = _check(path, whole=damage is not None)
                if damage:
                    _warn(damage, "is not as it was written")
                if seconds is None:
                    return Folder(path, self._make_folder(path, make, sealed), cached=False)
        return Folder(path, seconds, cached=True)

    def remake(
        self, kind: str, key: str, make: Callable[[Path], None], *, sealed: bool = True
    ) -> Folder:
        """Return the folder stored under `key`, made again; the old one stays until then."""
        path = self.root / kind / key
        with _locked(path):
            return Folder(path, self._make_folder(path, make, sealed), cached=False)

    def load(
        self, kind: str, key: str, make: Callable[[Path], None], read: Callable[[Path], T]
    ) -> tuple[Folder, T]:
        """Return the folder as `folder` does, and what `read` makes of it.

        A folder that was there and cannot be read is made again: a disk may fail, a file be lost.
        """
        folder = self.folder(kind, key, make)
        try:
            return folder, read(folder.path)
        except Exception as error:
            if not folder.cached:
                raise
            _warn(folder.path, f"cannot be read ({error})")
        with writing(folder.path):
            (folder.path / META).unlink(missing_ok=True)
        folder = self.folder(kind, key, make)
        return folder, read(folder.path)

    def usage(self) -> list[Usage]:
        """Return the size of each kind, by name."""
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

    def _make_folder(self, path: Path, make: Callable[[Path], None], sealed: bool) -> float:
        partial = path.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)  # what a killed process left
        partial.mkdir()
        begin = time.perf_counter()
        try:
            make(partial)
            seconds = time.perf_counter() - begin
            entry = {"seconds": seconds, "files": seal(partial) if sealed else {}}
            (partial / META).write_text(_render(entry))
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
            entries += database.read(_count, 0)
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
        """Store what is gathered. Raises AssayError if the cache cannot be written."""
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


def _select(database: sqlite3.Connection, keys: Sequence[str]) -> dict[str, bytes | None]:
    """Return the values of those `keys` that have one; None for one that is damaged."""
    found: dict[str, bytes | None] = {}
    for begin in range(0, len(keys), KEYS_PER_SELECT):
        part = keys[begin : begin + KEYS_PER_SELECT]
        marks = ",".join("?" * len(part))
        chosen = f"SELECT key, value, checksum FROM {TABLE} WHERE key IN ({marks})"
        for key, value, checksum in database.execute(chosen, part):
            whole = isinstance(value, bytes) and checksum == zlib.crc32(value)
            found[key] = value if whole else None
    return found


def _delete(database: sqlite3.Connection, keys: Sequence[str]) -> None:
    with database:
        database.executemany(f"DELETE FROM {TABLE} WHERE key = ?", ((key,) for key in keys))


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0])


def _check(path: Path, *, whole: bool = False) -> tuple[float | None, Path | None]:
    """Return the seconds that the making of a folder took, and a file of it that is damaged.

    The seconds are None if the folder is not whole. With `whole` all of each file is read.
    """
    try:
        text = (path / META).read_text()
        entry = json.loads(text)
        seconds = float(entry["seconds"])
        del entry["checksum"]
        if text != _render(entry):
            return None, path / META
        files = {name: SealedFile(*values) for name, values in entry["files"].items()}
        damage = find_changed(path, files, whole=whole)
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, path / META
    return (None, damage) if damage else (seconds, None)


def _render(entry: Mapping[str, Any]) -> str:
    """Return the text of the note in a folder, with a checksum of its own."""
    return json.dumps({**entry, "checksum": zlib.crc32(json.dumps(entry).encode())})


def _warn(path: Path, what: str) -> None:
    print(f"warning: {path}: {what}; made anew", file=sys.stderr)
