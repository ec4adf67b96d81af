"""Cached results of computations on a collection's files, keyed by all of their inputs."""

from contextlib import suppress

from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when files of a collection come to be read otherwise


def find(kind: str, of: str) -> bytes | None:
    """Return the cached value of a kind for the digest `of`; None if there is none."""
    key = digest(of, REVISION)
    with suppress(AssayError):
        return Cache(default_root()).get_many(kind, [key]).get(key)
    return None


def keep(kind: str, of: str, value: bytes) -> None:
    """Cache a value by the digest `of`; if nothing can be written, it is computed again later."""
    with suppress(AssayError):
        Cache(default_root()).put_many(kind, {digest(of, REVISION): value})
