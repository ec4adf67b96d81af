"""A process on a terminal of its own, and what stands on the screen."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

COLUMNS, ROWS = 80, 24


@dataclass(frozen=True)
class Screen:
    """The lines of the screen after each piece of output, and in the end with those above it."""

    states: Sequence[Sequence[str]]
    final: Sequence[str]
    output: str
    status: int


def show(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Screen:
    """Run `command` on a terminal of 80 columns and 24 rows, which is all that it writes to."""
    process, terminal = pty.fork()
    if not process:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.chdir(folder or ".")
        hidden = ("COLUMNS", "NO_COLOR")
        kept = {name: text for name, text in os.environ.items() if name not in hidden}
        os.execvpe(command[0], list(command), {**kept, "TERM": "xterm-256color", **environment})
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
    stream = pyte.ByteStream(screen)
    states, output = [], b""
    with os.fdopen(terminal, "rb", buffering=0) as written:
        while piece := _read(written.fileno()):
            output += piece
            stream.feed(piece)
            states.append([line.rstrip() for line in screen.display])
    _, status = os.waitpid(process, 0)
    above = ["".join(line[i].data for i in range(COLUMNS)).rstrip() for line in screen.history.top]
    final = [*above, *(line.rstrip() for line in screen.display)]
    return Screen(states, final, output.decode(), os.waitstatus_to_exitcode(status))


def _read(terminal: int) -> bytes:
    """Return what was written since; nothing when nobody can write any more."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # so Linux says that it was closed
        return b""
