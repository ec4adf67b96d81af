"""Failures to track: a command that did all else ends with exit code 3.

Many commands log to MLflow, some of them several times and on the way, so that failures are
collected here and reported once, at the end. See docs/reliability.md.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EXIT_CODE = 3

_failed: ContextVar[list[str] | None] = ContextVar("failed", default=None)


@contextmanager
def collect_failures() -> Iterator[list[str]]:
    """Yield the list of the stores, without credentials, that fail in this block."""
    failed: list[str] = []
    token = _failed.set(failed)
    try:
        yield failed
    finally:
        _failed.reset(token)


def add_failure(store: str) -> None:
    """Note a store that failed, if failures are being collected."""
    failed = _failed.get()
    if failed is not None:
        failed.append(store)
