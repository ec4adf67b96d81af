r"""Standard output and error that documents, queries and file names cannot take over.

What they hold is printed by every command. A control character would move a terminal's cursor or
rename its window; a line that begins with `::` is a command to GitHub's runners, and so is `##[`.
"""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from assay.retrievers.base.printing import COLOUR, neutralise


class SafeStream(io.TextIOWrapper):
    """A text stream that passes all it prints through `neutralise`; `commands` is the one below.

    Characters that the encoding lacks are printed as ?. A terminal gets no escapes but colours.
    What a reader that went away, such as `head`, no longer takes is dropped: the command goes on,
    and its exit code is that of its verdict.
    """

    def __init__(self, below: TextIO) -> None:
        # A stream that says it is ASCII, click writes past, in UTF-8.
        self._ascii = codecs.lookup(below.encoding).name == "ascii"
        encoding = "utf-8" if self._ascii else below.encoding
        super().__init__(below.buffer, encoding, errors="replace", line_buffering=True)
        self.commands = below
        self._allowed = COLOUR if below.isatty() else ""
        self._begun = ""

    def write(self, text: str) -> int:
        """Write `text`, and return its length."""
        if not isinstance(text, str):  # click finds out so that this is no stream of bytes
            raise TypeError(f"must be a string, not {type(text).__name__}")
        if text:
            clean = neutralise(text, self._allowed, self._begun)
            try:
                super().write(clean.encode("ascii", "replace").decode() if self._ascii else clean)
            except BrokenPipeError:
                self._drop()
            _, end, last = text.rpartition("\n")
            self._begun = (last if end else self._begun + last)[-80:]
        return len(text)

    def flush(self) -> None:
        """Pass on what is held back."""
        try:
            super().flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Print through `SafeStream` in this block, if the streams are those of a process."""
    kept = sys.stdout, sys.stderr
    made: list[Any] = [
        SafeStream(stream) if hasattr(stream, "buffer") else stream for stream in kept
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
                stream.detach()
