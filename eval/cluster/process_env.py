"""What holds of this process for the length of a block."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO


@contextmanager
def set_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables within the block: Ray's processes read them, and it itself when imported."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def redirect_errors(file: IO[bytes]) -> Iterator[None]:
    """Let what is written to standard error within the block, by C++ too, go to `file`."""
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
