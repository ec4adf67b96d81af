"""The caches of the machines of a cluster, each of which keeps its own."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.retrievers.store.cache import Cache


class RemoteCache:
    """The cache of the machine that a command was called on, for workers on others."""

    def __init__(self, root: Path) -> None:
        self._cache = Cache(root)

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values of those `keys` that have one."""
        return self._cache.get_many(kind, keys)

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Store `items`."""
        self._cache.put_many(kind, items)


class FetchingCache(Cache):
    """A local cache that fetches missing values from `keeper` and sends new values to it.

    With `tells` it also sends values that are already known here: those asked for are values that
    `keeper` lacks.
    """

    def __init__(self, root: Path, keeper: Any, get: Any, tells: bool = False) -> None:
        super().__init__(root)
        self._keeper = keeper
        self._get = get
        self._tells = tells

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the stored values of those `keys` that have one, here or there."""
        wanted = list(dict.fromkeys(keys))
        found = super().get_many(kind, wanted)
        if self._tells and found:
            self._get(self._keeper.put_many.remote(kind, found))
        if missing := [key for key in wanted if key not in found]:
            fetched = self._get(self._keeper.get_many.remote(kind, missing))
            super().put_many(kind, fetched)
            found |= fetched
        return found

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Store `items` here and there."""
        super().put_many(kind, items)
        self._get(self._keeper.put_many.remote(kind, dict(items)))
