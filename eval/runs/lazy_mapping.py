"""A mapping that finds a value when it is first asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from assay.retrievers.base import T


class LazyMapping(Mapping[str, T]):
    """The values that `find` gives of `keys`, each found once."""

    def __init__(self, keys: Iterable[str], find: Callable[[str], T]) -> None:
        self._keys = dict.fromkeys(keys)
        self._find = find
        self._found: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        """Return the value of `key`. Raises KeyError where it is none of the keys."""
        if key not in self._found:
            if key not in self._keys:
                raise KeyError(key)
            self._found[key] = self._find(key)
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
