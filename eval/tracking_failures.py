"""What a command could not track although it was asked to: it ends with 3 where it did the rest.

Many commands log to MLflow, some of them several times and on the way, so that what failed is
collected here and told once, at the end. See docs/reliability.md.
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
    """Note a store that failed, where somebody collects them."""
    failed = _failed.get()
    if failed is not None:
        failed.append(store)
