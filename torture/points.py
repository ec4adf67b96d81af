"""Points at which a kill is worst: just before a process first opens a file to write, or names one.

Also before it first opens a database and before it connects to a service. At random moments a kill
strikes mostly imports, which take longest.
"""

import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "TORTURE_POINTS"  # holds the pipe that takes a byte for each point
WRITING = os.O_WRONLY | os.O_RDWR


def watch() -> None:
    """Tell of each point of this process; of files only where they lie below its folder."""
    pipe, folder = int(os.environ.pop(VARIABLE)), str(Path.cwd())
    os.set_blocking(pipe, False)
    seen = set()

    def tell(event: str, given: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "sqlite3.connect"):
            place = given[0]
            if isinstance(place, int) or (event == "open" and not given[2] & WRITING):
                return
            name = os.fsdecode(place)
            if folder not in name and name.startswith(("/", ":")):
                return
        elif event == "socket.connect":
            name = ""
        else:
            return
        if (event, name) not in seen:
            seen.add((event, name))
            with suppress(OSError):  # nobody reads any more
                os.write(pipe, b".")

    sys.addaudithook(tell)


def wait_for(pipe: int, points: int, seconds: float) -> None:
    """Return at a point of a process, where it has ended before, or after so many seconds."""
    until = time.monotonic() + seconds
    while points and select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        told = len(os.read(pipe, points))
        if not told:
            return
        points -= told


def count(pipe: int) -> int:
    """Return how many points a process had that has ended."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):  # not even an end, where it left another process behind
        return len(os.read(pipe, 1 << 16))
    return 0
