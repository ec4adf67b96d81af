"""Temporary folders of engines, each locked by its process for as long as that lives."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

PREFIX = "assay-"
LOCK = "in-use.lock"
SETTLED = 5.0  # seconds after which a lock that was to be taken is taken


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary folder whose process is gone: the bytes that its files take on the disk."""

    path: Path
    bytes: int


class OwnFolder:
    """A temporary folder of this process, which is removed when it is closed.

    A killed process leaves its folder without a lock: see `list_leftovers`.
    """

    def __init__(self, engine: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{engine}-")
        self.path = Path(self._folder.name)
        self._lock = FileLock(self.path / LOCK, thread_local=False)
        self._lock.acquire()

    def close(self) -> None:
        """Remove the folder; may be called twice."""
        self._lock.release()
        self._folder.cleanup()


def list_leftovers(engine: str) -> list[Leftover]:
    """Return the temporary folders of the engine that killed processes left."""
    found = []
    beginning = f"{PREFIX}{engine}-"
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{beginning}*")):
        if "-" in folder.name.removeprefix(beginning):
            continue  # of an engine with a longer name
        with _hold(folder) as held:
            if held:
                found.append(Leftover(folder, allocated(folder)))
    return found


def remove_leftover(leftover: Leftover) -> None:
    """Remove the folder, unless a process has it in use."""
    with _hold(leftover.path) as held:
        if held:
            shutil.rmtree(leftover.path)


def allocated(folder: Path) -> int:
    """Return the bytes that the files below `folder` take on the disk."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@contextmanager
def _hold(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder meanwhile, and say whether that could be done.

    Folders without a lock are not this project's, or about to be locked; so are the newest.
    """
    lock = folder / LOCK
    try:
        if not lock.exists() or time.time() - folder.stat().st_mtime < SETTLED:
            yield False
            return
        held = FileLock(lock, timeout=0)
        held.acquire()
    except (OSError, Timeout):  # of another user, or removed meanwhile
        yield False
        return
    try:
        yield True
    finally:
        held.release()
