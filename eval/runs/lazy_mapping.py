"""A mapping that finds a value when it is asked for."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from assay.retrievers.base import T


class LazyMapping(Mapping[str, T]):
    """The values that `find` gives of `keys`: the first `kept` are found once, others each time.

    Which are kept does not change, so that of passes over all keys each finds the same again.
    """

    def __init__(
        self, keys: Iterable[str], find: Callable[[str], T], kept: int = sys.maxsize
    ) -> None:
        self._keys = dict.fromkeys(keys)
        self._find = find
        self._found: dict[str, T] = {}
        self._kept = kept

    def __getitem__(self, key: str) -> T:
        """Return the value of `key`. Raises KeyError where it is none of the keys."""
        if key in self._found:
            return self._found[key]
        if key not in self._keys:
            raise KeyError(key)
        value = self._find(key)
        if self.keeps_more:
            self._found[key] = value
        return value

    @property
    def keeps_more(self) -> bool:
        """Whether the next value that is found is kept."""
        return len(self._found) < self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
