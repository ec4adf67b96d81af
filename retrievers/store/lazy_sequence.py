"""Sequences longer than memory should hold: their items are made again at each access."""

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class HasId(Protocol):
    """An object with an id."""

    @property
    def id(self) -> str:
        """The id."""
        ...


T = TypeVar("T")
N = TypeVar("N", bound=HasId)
V = TypeVar("V", covariant=True)

RECENT = 1 << 12  # items that are kept


class LazySequence(Sequence[T]):
    """A sequence of `size` items; `take` makes the item at a place, equal each time.

    The items used last are kept: the results of a search are read several times.
    """

    def __init__(self, size: int, take: Callable[[int], T]) -> None:
        self._size = size
        self._take = lru_cache(RECENT)(take)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, i: int) -> T: ...

    @overload
    def __getitem__(self, i: slice) -> list[T]: ...

    def __getitem__(self, i: int | slice) -> T | list[T]:
        places = range(self._size)[i]
        return self._take(places) if isinstance(places, int) else [self._take(i) for i in places]

    def __iter__(self) -> Iterator[T]:
        return map(self._take, range(self._size))


class IdSequence(LazySequence[N]):
    """Items with distinct ids; 12 bytes are kept for each id.

    `hashes` has Python's hash of each id, in the order of the items. `digest_content` returns a
    digest of everything that the items are made of, "" if that is not known.
    """

    def __init__(self, hashes: "array[int] | NDArray[np.int64]", take: Callable[[int], N]) -> None:
        super().__init__(len(hashes), take)
        import numpy as np

        self.hashes = np.asarray(hashes, np.int64)
        self.digest_content: Callable[[], str] = str

    @cached_property
    def _sorted(self) -> tuple["NDArray[np.int64]", "NDArray[np.int32]"]:
        """The hashes, ascending, and the place of each."""
        import numpy as np

        order = np.argsort(self.hashes, kind="stable")
        return self.hashes[order], order.astype(np.int32)

    def find(self, id_: str) -> int | None:
        """Return the place of the item of this id, None if there is none."""
        hashes, order = self._sorted
        known = hash(id_)
        i = int(hashes.searchsorted(known))
        while i < len(hashes) and hashes[i] == known:
            place = int(order[i])
            if self[place].id == id_:
                return place
            i += 1
        return None

    def find_repeated(self) -> tuple[int, int] | None:
        """Return the first place whose id an earlier one has, after that one; None without any."""
        hashes, order = self._sorted
        first: tuple[int, int] | None = None
        groups: dict[int, list[int]] = {}
        for i in (hashes[1:] == hashes[:-1]).nonzero()[0].tolist():
            groups.setdefault(int(hashes[i]), [int(order[i])]).append(int(order[i + 1]))
        for places in groups.values():
            seen: dict[str, int] = {}
            for place in places:
                before = seen.setdefault(self[place].id, place)
                if before != place and (first is None or place < first[1]):
                    first = before, place
        return first


class PassageSequence(IdSequence[N]):
    """Documents that are one prescribed passage each, with the document's id."""


class IdList(Sequence[str]):
    """Ids that know where they stand without all of them being made."""

    @abstractmethod
    def find(self, wanted: Iterable[str]) -> dict[str, int]:
        """Return the place, from 0, of each of the `wanted` ids that is in the list."""


class ById(Mapping[str, V], Generic[V]):
    """A mapping from the id of each item of a lazy sequence to `value` of the item's place."""

    def __init__(self, shelf: IdSequence[Any], value: Callable[[int], V]) -> None:
        self.shelf = shelf
        self._value = value

    def __getitem__(self, id_: str) -> V:
        place = self.shelf.find(id_)
        if place is None:
            raise KeyError(id_)
        return self._value(place)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and self.shelf.find(id_) is not None

    def __iter__(self) -> Iterator[str]:
        return (item.id for item in self.shelf)

    def __len__(self) -> int:
        return len(self.shelf)


def take_block(items: Iterator[T], measure: Callable[[T], int], most: int) -> list[T]:
    """Return the next items, up to that with which they measure `most` or more; each counts as 1
    at least.
    """
    taken = []
    for item in items:
        taken.append(item)
        most -= max(measure(item), 1)
        if most <= 0:
            break
    return taken


def sort_places(names: Iterable[str]) -> list[int]:
    """Return the places of `names` by descending name."""
    known = list(names)
    return sorted(range(len(known)), key=known.__getitem__, reverse=True)
