"""What was computed from a collection's files before, by all that it was computed from."""

from contextlib import suppress

from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when files of a collection come to be read otherwise


def find(kind: str, of: str) -> bytes | None:
    """Return what was kept of a kind by the digest `of`; None without."""
    key = digest(of, REVISION)
    with suppress(AssayError):
        return Cache(default_root()).get_many(kind, [key]).get(key)
    return None


def keep(kind: str, of: str, value: bytes) -> None:
    """Keep a value by the digest `of`; where nothing can be written, it is computed anew."""
    with suppress(AssayError):
        Cache(default_root()).put_many(kind, {digest(of, REVISION): value})
