"""Writing files: whole or not at all; a failure of the disk is reported in one line."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import BinaryIO

from assay.retrievers.base import AssayError, explain_os_error

LONGEST = 60  # characters of a name that the file in the making bears: file systems take 255 bytes


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an AssayError with `path` and cause for errors of the operating system in this block.

    Examples: a full disk, a read-only folder, a name that is too long. Network errors are not
    converted.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, ConnectionError | TimeoutError):
            raise
        reason = explain_os_error(OSError(error.errno, error.strerror))
        raise AssayError(f"{path}: cannot be written: {reason}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees part of it: see `open_atomically`."""
    with open_atomically(path) as file:
        file.write(content)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that gets its name where the block ends without an error.

    Its folder is made where it is missing. What it holds is on the disk before it gets its name, or
    a power cut could leave an empty one. Raises AssayError, and leaves what was there, where it
    cannot be written.
    """
    partial = path.with_name(f"{_begin(path)}{os.getpid()}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def remove_partial(paths: Iterable[Path]) -> None:
    """Remove unfinished files of killed processes; the caller must hold their lock."""
    for path in paths:
        begins = _begin(path)
        for left in path.parent.glob(f"{escape(begins)}*"):
            if left.name.removeprefix(begins).isdecimal():
                with writing(left):
                    left.unlink(missing_ok=True)


def _begin(path: Path) -> str:
    """Return the beginning of an unfinished file's name, before the process's number."""
    return f".{path.name[:LONGEST]}."


def append(path: Path, text: str) -> None:
    """Append to a file in UTF-8. Raises AssayError if it cannot be written."""
    with writing(path), path.open("ab") as file:
        file.write(text.encode())
