"""What an encoder makes of texts, as bytes, kept in the cache by the text."""

import struct
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any, ClassVar, Generic, TypeVar

from assay.retrievers.models.sparse_base import SparseEncoder
from assay.retrievers.models.token_base import TokenEncoder
from assay.retrievers.settings import Resources, Spread
from assay.retrievers.store.digest import digest

SECONDS = struct.Struct("<d")
TEXTS_PER_WRITE = 64  # what a killed run loses at most, and what is held in memory

T = TypeVar("T")
E = TypeVar("E", bound=SparseEncoder | TokenEncoder)


@dataclass(frozen=True, slots=True)
class CachedValue:
    """What was made of one text; `fresh` if that was just now."""

    value: bytes
    fresh: bool


class KeptVectors:
    """Entries of `kind`, made by `encode` where there is none; `name` is the encoder's, for people.

    `identity` gives the digest of all that decides a value. Safe in several threads and processes:
    at worst two of them encode the same text. With `spread` others encode many texts.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        identity: Callable[[], str],
        encode: Callable[[Sequence[str]], Sequence[bytes]],
        resources: Resources,
        spread: Callable[[Sequence[str]], Iterator[int]] | None = None,
    ) -> None:
        self._kind = kind
        self._seconds_kind = f"{kind}_seconds"  # of each entry, by the same key
        self._name = name
        self._identity = identity
        self._encode = encode
        self._resources = resources
        self._spread = spread

    def find(self, texts: Sequence[str]) -> Iterator[CachedValue]:
        """Yield what is made of each text, in order; each block is stored before it is yielded."""
        found = self._find(texts, self._let_others(texts) if self._spread else ())
        yield from self._track(found, len(texts))

    def fill(self, texts: Sequence[str]) -> int:
        """Make what is not in the cache yet, and return of how many texts that was."""
        return sum(item.fresh for item in self.find(texts))

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None where some were lost.
        """
        keys = set(self._keys(texts))
        known = self._resources.cache.get_many(self._seconds_kind, keys)
        if len(known) < len(keys):
            return None
        return fsum(SECONDS.unpack(value)[0] for value in known.values())

    def _let_others(self, texts: Sequence[str]) -> Container[str]:
        """Let other processes make what is missing of many texts, and return its keys."""
        items = list(zip(self._keys(texts), texts, strict=True))
        missing: dict[str, str] = {}
        for begin in range(0, len(items), TEXTS_PER_WRITE):
            block = dict(items[begin : begin + TEXTS_PER_WRITE])
            known = self._resources.cache.get_many(self._kind, block)
            missing |= {key: text for key, text in block.items() if key not in known}
        if self._spread is None or len(missing) <= TEXTS_PER_WRITE:
            return ()
        deque(self._track(self._spread(list(missing.values())), len(missing)), maxlen=0)
        return missing.keys()

    def _track(self, items: Iterable[T], total: int) -> Iterator[T]:
        return self._resources.progress.track(items, f"embedding with {self._name}", total)

    def _find(self, texts: Sequence[str], others: Container[str]) -> Iterator[CachedValue]:
        """As `find`; what `others` have just made is fresh too."""
        keys = self._keys(texts)
        for begin in range(0, len(keys), TEXTS_PER_WRITE):
            block = dict(
                zip(
                    keys[begin : begin + TEXTS_PER_WRITE],
                    texts[begin : begin + TEXTS_PER_WRITE],
                    strict=True,
                )
            )
            known = self._resources.cache.get_many(self._kind, block)
            missing = [key for key in block if key not in known]
            known |= self._make(missing, [block[key] for key in missing])
            for key in keys[begin : begin + TEXTS_PER_WRITE]:
                yield CachedValue(known[key], key in missing or key in others)

    def _make(self, keys: Sequence[str], texts: Sequence[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        begin = time.perf_counter()
        made = dict(zip(keys, self._encode(texts), strict=True))
        share = SECONDS.pack((time.perf_counter() - begin) / len(keys))
        self._resources.cache.put_many(self._seconds_kind, dict.fromkeys(keys, share))
        self._resources.cache.put_many(self._kind, made)
        return made

    def _keys(self, texts: Sequence[str]) -> list[str]:
        identity = self._identity()
        return [digest(identity, text) for text in texts]


class KeptEncoder(ABC, Generic[E]):
    """An encoder with what it makes of passages kept as entries of `kind`, by their texts."""

    kind: ClassVar[str]

    def __init__(
        self, encoder: E, name: str, resources: Resources, spread: Spread | None = None
    ) -> None:
        self._encoder = encoder
        self._name = name
        self._kept = KeptVectors(
            self.kind,
            name,
            lambda: encoder.identity,
            self._encode,
            resources,
            partial(spread, self) if spread else None,
        )

    @property
    def identity(self) -> str:
        """The identity of the encoder behind the cache."""
        return self._encoder.identity

    def keep(self, texts: Sequence[str]) -> int:
        """Encode what is not in the cache yet, and return how many texts that were."""
        return self._kept.fill(texts)

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None where some were lost.
        """
        return self._kept.recall_seconds(texts)

    def metadata(self) -> Mapping[str, Any]:
        """The facts of the encoder behind the cache."""
        return self._encoder.metadata()

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> list[bytes]:
        """Return what is made of each text."""
