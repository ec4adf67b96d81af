"""What an encoder makes of texts, as bytes, kept in the cache by the text."""

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from retrievers.settings import Workshop
from retrievers.store.digest import digest

SECONDS = struct.Struct("<d")
TEXTS_PER_WRITE = 64  # what a killed run loses at most, and what is held in memory


@dataclass(frozen=True, slots=True)
class Kept:
    """What was made of one text; `fresh` if that was just now."""

    value: bytes
    fresh: bool


class KeptVectors:
    """Entries of `kind`, made by `encode` where there is none; `name` is the encoder's, for people.

    `identity` gives the digest of all that decides a value. Safe in several threads and processes:
    at worst two of them encode the same text.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        identity: Callable[[], str],
        encode: Callable[[Sequence[str]], Sequence[bytes]],
        workshop: Workshop,
    ) -> None:
        self._kind = kind
        self._seconds_kind = f"{kind}_seconds"  # of each entry, by the same key
        self._name = name
        self._identity = identity
        self._encode = encode
        self._workshop = workshop

    def find(self, texts: Sequence[str]) -> Iterator[Kept]:
        """Yield what is made of each text, in order; each block is stored before it is yielded."""
        found = self._find(texts)
        yield from self._workshop.progress.track(found, f"embedding with {self._name}", len(texts))

    def fill(self, texts: Sequence[str]) -> int:
        """Make what is not in the cache yet, and return of how many texts that was."""
        return sum(item.fresh for item in self.find(texts))

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None where some were lost.
        """
        keys = set(self._keys(texts))
        known = self._workshop.cache.get_many(self._seconds_kind, keys)
        if len(known) < len(keys):
            return None
        return fsum(SECONDS.unpack(value)[0] for value in known.values())

    def _find(self, texts: Sequence[str]) -> Iterator[Kept]:
        keys = self._keys(texts)
        for begin in range(0, len(keys), TEXTS_PER_WRITE):
            block = dict(
                zip(
                    keys[begin : begin + TEXTS_PER_WRITE],
                    texts[begin : begin + TEXTS_PER_WRITE],
                    strict=True,
                )
            )
            known = self._workshop.cache.get_many(self._kind, block)
            missing = [key for key in block if key not in known]
            known |= self._make(missing, [block[key] for key in missing])
            for key in keys[begin : begin + TEXTS_PER_WRITE]:
                yield Kept(known[key], key in missing)

    def _make(self, keys: Sequence[str], texts: Sequence[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        begin = time.perf_counter()
        made = dict(zip(keys, self._encode(texts), strict=True))
        share = SECONDS.pack((time.perf_counter() - begin) / len(keys))
        self._workshop.cache.put_many(self._seconds_kind, dict.fromkeys(keys, share))
        self._workshop.cache.put_many(self._kind, made)
        return made

    def _keys(self, texts: Sequence[str]) -> list[str]:
        identity = self._identity()
        return [digest(identity, text) for text in texts]
