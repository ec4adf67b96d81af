"""An encoder's results as bytes, stored in the cache by text."""

import struct
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, Generic, TypeVar

from assay.retrievers.models.base import Model
from assay.retrievers.settings import Resources, Spread
from assay.retrievers.store.digest import digest

SECONDS = struct.Struct("<d")
TEXTS_PER_WRITE = 64  # what a killed run loses at most, and what is held in memory

T = TypeVar("T")
E = TypeVar("E", bound=Model)


@dataclass(frozen=True, slots=True)
class CachedValue:
    """The encoded result of one text; `fresh` if it was computed just now."""

    value: bytes
    fresh: bool


class KeptEncoder(ABC, Generic[E]):
    """An encoder whose results for passages are cached as entries of `kind`, by their texts.

    Safe in several threads and processes: at worst two of them encode the same text. With `spread`
    others encode many texts. `name` is the encoder's, for people.
    """

    kind: ClassVar[str]

    def __init__(
        self, encoder: E, name: str, resources: Resources, spread: Spread | None = None
    ) -> None:
        self._encoder = encoder
        self._name = name
        self._resources = resources
        self._spread = spread
        self._seconds_kind = f"{self.kind}_seconds"  # of each entry, by the same key

    @property
    def identity(self) -> str:
        """The identity of the encoder behind the cache."""
        return self._encoder.identity

    def keep(self, texts: Sequence[str]) -> int:
        """Encode what is not in the cache yet, and return how many texts that were."""
        return sum(item.fresh for item in self._find(texts))

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None if some were lost.
        """
        keys = set(self._keys(texts))
        known = self._resources.cache.get_many(self._seconds_kind, keys)
        if len(known) < len(keys):
            return None
        return fsum(SECONDS.unpack(value)[0] for value in known.values())

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder behind the cache."""
        return self._encoder.metadata()

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> list[bytes]:
        """Return the encoded result of each text."""

    def _find(self, texts: Sequence[str]) -> Iterator[CachedValue]:
        """Yield the result of each text, in order; each block is stored before it is yielded."""
        others = self._let_others(texts) if self._spread else ()
        yield from self._track(self._find_blocks(texts, others), len(texts))

    def _let_others(self, texts: Sequence[str]) -> Container[str]:
        """Let other processes encode the missing texts, if many, and return their keys."""
        items = list(zip(self._keys(texts), texts, strict=True))
        missing: dict[str, str] = {}
        for begin in range(0, len(items), TEXTS_PER_WRITE):
            block = dict(items[begin : begin + TEXTS_PER_WRITE])
            known = self._resources.cache.get_many(self.kind, block)
            missing |= {key: text for key, text in block.items() if key not in known}
        if self._spread is None or len(missing) <= TEXTS_PER_WRITE:
            return ()
        spread = self._spread(self, list(missing.values()))
        deque(self._track(spread, len(missing)), maxlen=0)
        return missing.keys()

    def _track(self, items: Iterable[T], total: int) -> Iterator[T]:
        return self._resources.progress.track(items, f"embedding with {self._name}", total)

    def _find_blocks(self, texts: Sequence[str], others: Container[str]) -> Iterator[CachedValue]:
        """Find values as `_find` does; values that `others` have just made are fresh too."""
        keys = self._keys(texts)
        for begin in range(0, len(keys), TEXTS_PER_WRITE):
            part = slice(begin, begin + TEXTS_PER_WRITE)
            block = dict(zip(keys[part], texts[part], strict=True))
            known = self._resources.cache.get_many(self.kind, block)
            missing = [key for key in block if key not in known]
            known |= self._make(missing, [block[key] for key in missing])
            for key in keys[part]:
                yield CachedValue(known[key], key in missing or key in others)

    def _make(self, keys: Sequence[str], texts: Sequence[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        begin = time.perf_counter()
        made = dict(zip(keys, self._encode(texts), strict=True))
        share = SECONDS.pack((time.perf_counter() - begin) / len(keys))
        self._resources.cache.put_many(self._seconds_kind, dict.fromkeys(keys, share))
        self._resources.cache.put_many(self.kind, made)
        return made

    def _keys(self, texts: Sequence[str]) -> list[str]:
        identity = self.identity
        return [digest(identity, text) for text in texts]
