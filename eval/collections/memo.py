"""What was computed from a collection's files before, by all that it was computed from."""

from contextlib import suppress
from functools import cache

from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest
from assay.retrievers.store.sources import digest_imports


def find(kind: str, of: str) -> bytes | None:
    """Return what was kept of a kind by the digest `of`; None without."""
    key = digest(of, _digest_code())
    with suppress(AssayError):
        return Cache(default_root()).get_many(kind, [key]).get(key)
    return None


def keep(kind: str, of: str, value: bytes) -> None:
    """Keep a value by the digest `of`; where nothing can be written, it is computed anew."""
    with suppress(AssayError):
        Cache(default_root()).put_many(kind, {digest(of, _digest_code()): value})


@cache
def _digest_code() -> str:
    """Return a digest of what reads collections."""
    return digest_imports("assay.eval.collections.*")
