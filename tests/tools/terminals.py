"""A process on a terminal of its own, and what stands on the screen."""

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Sequence
from dataclasses import dataclass

import pyte

COLUMNS, ROWS = 80, 24
REDRAWN = re.compile(rb"(?=\r[^\n])")  # where a line is written anew


@dataclass(frozen=True)
class Screen:
    """The lines of the screen before each line that is redrawn, and in the end those above too."""

    states: Sequence[Sequence[str]]
    final: Sequence[str]
    output: str
    status: int


class Shell:
    """A shell on a terminal of 80 columns and 24 rows, into which lines are typed."""

    PROMPT = re.compile(rb"\[(\d+)\] \$ $")  # with the exit status of what was typed before

    def __init__(self, environment, folder):
        shell = {"PS1": "[$?] $ ", "TERM": "xterm-256color", "PATH": os.environ["PATH"]}
        command = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
        self._process, self._terminal = pty.fork()
        if not self._process:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(folder)
            os.execvpe(command[0], command, shell | environment)
        self._read()

    def type(self, line):
        """Type a line, wait for the prompt, and return the screen that it began to fill."""
        screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
        os.write(self._terminal, f"{line}\n".encode())
        output = self._read()
        pyte.ByteStream(screen).feed(output)
        found = self.PROMPT.search(output)
        assert found, output.decode(errors="replace")
        return Screen([], _list_lines(screen), output.decode(), int(found[1]))

    def close(self):
        """Leave the shell."""
        os.write(self._terminal, b"exit\n")
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    def _read(self):
        """Return what is written up to the next prompt, or the end."""
        output = b""
        while not self.PROMPT.search(output) and (piece := _read(self._terminal)):
            output += piece
        return output


def show(command, environment, folder=None, typed=b""):
    """Run `command` on a terminal of 80 columns and 24 rows, on which `typed` is typed."""
    process, terminal = pty.fork()
    if not process:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.chdir(folder or ".")
        hidden = ("COLUMNS", "NO_COLOR")
        kept = {name: text for name, text in os.environ.items() if name not in hidden}
        os.execvpe(command[0], list(command), {**kept, "TERM": "xterm-256color", **environment})
    os.write(terminal, typed)
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
    stream = pyte.ByteStream(screen)
    states, output = [], b""
    with os.fdopen(terminal, "rb", buffering=0) as written:
        while piece := _read(written.fileno()):
            output += piece
            for part in REDRAWN.split(piece):  # which a busy machine reads in one
                stream.feed(part)
                states.append([line.rstrip() for line in screen.display])
    _, status = os.waitpid(process, 0)
    return Screen(states, _list_lines(screen), output.decode(), os.waitstatus_to_exitcode(status))


def _list_lines(screen):
    """Return the lines of the screen after those that have left it at the top."""
    above = ["".join(line[i].data for i in range(COLUMNS)).rstrip() for line in screen.history.top]
    return [*above, *(line.rstrip() for line in screen.display)]


def _read(terminal):
    """Return what was written since; nothing when nobody can write any more."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # so Linux says that it was closed
        return b""
