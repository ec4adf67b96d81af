"""One process at a time changes what others change too: it reads, works and writes under a lock.

The lock lies in the cache, where it is nobody's file to commit. The system holds it, and gives it
back when a process dies. It excludes the processes that share a cache.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from assay.retrievers.store.cache import default_root
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import writing

FOLDER = ".locks"
PATIENCE = 1.0  # seconds of waiting before it is said


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Keep other processes, and other threads, from changing the file or folder `path` meanwhile.

    Take it before reading what is changed. It may be taken again within itself. Raises AssayError
    where the cache lies on a file system without locks.
    """
    folder = default_root() / FOLDER
    with writing(folder):
        lock = FileLock(folder / digest(str(path.resolve())), is_singleton=True)
        try:
            lock.acquire(timeout=PATIENCE)
        except Timeout:
            print(f"waiting for another process that changes {path}", file=sys.stderr)
            lock.acquire()
    try:
        yield
    finally:
        lock.release()
