r"""Standard output and error that documents, queries and file names cannot take over.

What they hold is printed by every command. A control character would move a terminal's cursor or
rename its window; a line that begins with `::` is a command to GitHub's runners, and so is `##[`.
"""

import codecs
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

# Of the escapes those that rich writes on a terminal: colours, and on standard error its bars.
COLOUR = r"\x1b\[[0-9;]*m"
BAR = r"\x1b\[(?:[0-9;]*[mAK]|\?25[hl])"
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def neutralise(text: str, allowed: str = "", begun: str = "") -> str:
    """Return `text` with control characters shown as U+FFFD and no command to GitHub's runners.

    `allowed` is a pattern of what stays as it is. `begun` is what stands on the
    line that `text` goes on with.
    """
    pattern = f"({allowed})|{CONTROL}" if allowed else CONTROL
    clean = re.sub(pattern, lambda at: (at[1] if allowed else "") or "\ufffd", text)
    lines = clean.replace("##[", "## [")
    first, end, rest = lines.partition("\n")
    if not begun.strip():
        first = COMMAND.sub(r"\1: ", first)
    elif (begun.strip() == ":" and first[:1] == ":") or (begun[-2:] == "##" and first[:1] == "["):
        first = f" {first}"
    return first + end + COMMAND.sub(r"\1: ", rest)


class SafeStream(io.TextIOWrapper):
    """A stream of text that prints what `neutralise` makes of it; `commands` is the one below.

    What the encoding lacks is printed as a question mark.
    """

    def __init__(self, below: TextIO, escapes: str) -> None:
        # A stream that says it is ASCII, click writes past, in UTF-8.
        self._ascii = codecs.lookup(below.encoding).name == "ascii"
        encoding = "utf-8" if self._ascii else below.encoding
        super().__init__(below.buffer, encoding, errors="replace", line_buffering=True)
        self.commands = below
        self._allowed = escapes if below.isatty() else ""
        self._begun = ""

    def write(self, text: str) -> int:
        """Write `text`, and return its length."""
        if not isinstance(text, str):  # click finds out so that this is no stream of bytes
            raise TypeError(f"must be a string, not {type(text).__name__}")
        if text:
            clean = neutralise(text, self._allowed, self._begun)
            super().write(clean.encode("ascii", "replace").decode() if self._ascii else clean)
            _, end, last = text.rpartition("\n")
            self._begun = last if end else self._begun + last
        return len(text)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Print by `SafeStream` in this block, where the streams are those of a process."""
    kept = sys.stdout, sys.stderr
    made: list[Any] = [
        SafeStream(stream, escapes) if hasattr(stream, "buffer") else stream
        for stream, escapes in zip(kept, (COLOUR, BAR), strict=True)
    ]
    for stream in kept:
        if stream is not None:
            stream.flush()
    sys.stdout, sys.stderr = made
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept
        for stream in made:
            if isinstance(stream, SafeStream):
                stream.flush()
                stream.detach()
