"""Keeps one PostgreSQL server running for as long as any process uses it.

A program, run with the folder of the server and that of PostgreSQL's programs. It returns once the
server answers, with status 1 and one line where it does not, and leaves a process behind that

- holds a lock on `keeper` while it lives,
- holds one on `ready` while the server answers,
- stops the server when for some seconds no process had a shared lock on `lease`.

The kernel takes a lock from a process however it ends, so nothing is left running. There is no TCP:
the socket is in the data folder, and whoever may enter that, its owner and root, is let in.
PostgreSQL refuses to run as root. Started by root it is `nobody`, and reaches its data through the
folder that it is started in: nothing above need be open to others, and no user is made.

Only the standard library and psutil, which comes with the programs, are imported.
"""

import ctypes
import fcntl
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, TextIO

POLL = 0.25  # seconds between looks whether the server is in use
LINGER = 1.0  # seconds without use after which it is stopped
START_SECONDS = 60.0
STOP_SECONDS = 20.0
HERE = "/proc/self/cwd"
UNPRIVILEGED = "nobody"
OPTIONS = {
    "listen_addresses": "",
    "unix_socket_directories": ".",  # the data folder
    "unix_socket_permissions": "0700",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "log_min_error_statement": "panic",  # statements hold texts
    "client_connection_check_interval": "1s",  # a killed client's statement ends before its end
    "TimeZone": "UTC",
}


class StartError(Exception):
    """Why there is no server, in one line."""


def main(folder: Path, programs: Path) -> int:
    """Start the server and return 0, or say why it cannot be and return 1."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        with os.fdopen(reading) as pipe:
            problem = pipe.read()
        sys.stderr.write(problem)
        return 1 if problem else 0
    os.close(reading)
    os.setsid()
    os.chdir("/")
    started = os.fdopen(writing, "w")
    try:
        keep(folder, programs, started)
    except Exception as error:
        print(error, file=sys.stderr if started.closed else started)
    finally:
        started.close()
        os._exit(0)


def keep(folder: Path, programs: Path, started: TextIO) -> None:
    """Run the server until nobody uses it; close `started` once it answers."""
    if not lock(os.open(folder / "keeper", os.O_RDWR | os.O_CREAT, 0o600)):
        return  # another process keeps it
    ready = os.open(folder / "ready", os.O_RDWR | os.O_CREAT, 0o600)
    redirect_output(folder / "log")
    wake = watch_signals()
    server = None
    try:
        data = folder / "data"
        prepare_data(data, programs)
        stop_leftover(data)
        server = start(data, programs, folder / "log")
        fcntl.flock(ready, fcntl.LOCK_EX)
        started.close()
        wait_until_unused(server, folder / "lease", wake)
    finally:
        os.close(ready)
        stop(server)


def prepare_data(data: Path, programs: Path) -> None:
    """Make the data folder, unless it is there: in another place first, then renamed."""
    if data.exists():
        return
    partial = data.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    hand_over(partial)
    ctype = "C.UTF-8" if sys.platform == "linux" else "UTF-8"
    command = [
        str(programs / "initdb"),
        f"--pgdata={path_for_server(partial)}",
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--no-locale",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        f"--lc-ctype={ctype}",
    ]
    made = subprocess.run(command, capture_output=True, text=True, **as_server(partial))
    if made.returncode:
        raise StartError(f"initdb failed: {last_line(made.stderr, 'error')}")
    partial.rename(data)


def start(data: Path, programs: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Return the server once it answers.

    What an earlier server left, its children and its shared memory, may take a moment to go.
    """
    command = [str(programs / "postgres"), "-D", path_for_server(data)]
    command += [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, **as_server(data)
        )
        while server.poll() is None and time.monotonic() < end:
            lines = read_pid_file(data)
            if lines[:1] == [str(server.pid)] and lines[-1] == "ready":
                return server
            time.sleep(0.02)
        stop(server)
        problem = last_line(log.read_text(errors="replace"), "FATAL")
        if "still in use" not in problem:
            raise StartError(f"the server stopped: {problem}")
        time.sleep(0.1)
    raise StartError(f"the server did not answer within {START_SECONDS:g} s")


def wait_until_unused(server: "subprocess.Popen[bytes]", lease: Path, wake: int) -> None:
    """Return when the server ended, a signal came, or nobody used it for a while.

    In the last case the lease stays locked, so that whoever comes next waits for the end.
    """
    file = os.open(lease, os.O_RDWR | os.O_CREAT, 0o600)
    used = time.monotonic()
    while server.poll() is None:
        if not lock(file):
            used = time.monotonic()
        elif time.monotonic() - used >= LINGER:
            return
        else:
            fcntl.flock(file, fcntl.LOCK_UN)
        if select.select([wake], [], [], POLL)[0] and signal.SIGTERM in os.read(wake, 100):
            return


def stop(server: "subprocess.Popen[bytes] | None") -> None:
    """Stop the server: in order, then at once."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if server is None or server.poll() is not None:
            return
        server.send_signal(number)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def stop_leftover(data: Path) -> None:
    """Stop a server whose keeper was killed."""
    import psutil

    lines = read_pid_file(data)
    if not lines:
        return
    try:
        process = psutil.Process(int(lines[0]))
        if process.name() == "postgres" and Path(process.cwd()).samefile(data):
            process.send_signal(signal.SIGQUIT)
            process.wait(STOP_SECONDS)
    except (psutil.Error, ValueError):
        return


def read_pid_file(data: Path) -> list[str]:
    """Return the lines of the file in which a server tells of itself; none without one."""
    try:
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    except OSError:
        return []


def as_server(folder: Path) -> dict[str, Any]:
    """Return how a program of PostgreSQL is started in `folder`: never as root."""
    # The environment may hold secrets, which are not for another user.
    start = {"cwd": folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}}
    if os.geteuid() != 0:
        return start
    user = pwd.getpwnam(UNPRIVILEGED)
    return {**start, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def end_with_parent() -> None:
    """Have the kernel stop this process when its parent is killed, where it can: on Linux."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGINT)


def path_for_server(folder: Path) -> str:
    """Return how a server started in `folder` names it."""
    return HERE if os.geteuid() == 0 and Path(HERE).exists() else str(folder)


def hand_over(folder: Path) -> None:
    """Make `folder` the property of the user as whom the server runs."""
    if os.geteuid() == 0:
        user = pwd.getpwnam(UNPRIVILEGED)
        os.chown(folder, user.pw_uid, user.pw_gid)


def lock(file: int) -> bool:
    """Say whether the open `file` could be locked for this process alone."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def redirect_output(log: Path) -> None:
    """Read nothing, and write to `log`, emptied first, whatever is printed from here on."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(source, target)


def watch_signals() -> int:
    """Return a file that can be read when a child ended or this process is to end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reading


def last_line(text: str, word: str) -> str:
    """Return the last line of `text` that has `word` in it, or else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]
    return next((line for line in reversed(lines) if word in line), lines[-1])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
