"""The vectors of texts in the cache: their keys, and their reading."""

from array import array
from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import fsum
from struct import Struct

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.models.vector_check import CACHED, check_vectors
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

VECTORS_KIND = "embeddings"
SECONDS_KIND = "embedding_seconds"  # of each vector, by the same key
TOKENS_KIND = "embedding_tokens"  # of each vector that a service was asked for
PART = 1 << 15  # texts of many that are looked up at once
NUMBER = Struct("<d")


@dataclass(frozen=True, slots=True)
class Lookup:
    """The key of each of `texts`, the vectors `known` by key, and of those `missing` the texts."""

    texts: Sequence[str]
    keys: Sequence[str]
    known: dict[str, bytes]
    missing: Sequence[str]
    wanted: Sequence[str]


class VectorCache:
    """The vectors of one encoder, by the text and everything else that decides the vector.

    `name` is the encoder's, for people; `source` the digest of its code, where that is not this
    project's.
    """

    def __init__(self, cache: Cache, encoder: Encoder, name: str, source: str = "") -> None:
        self._cache = cache
        self._encoder = encoder
        self._name = name
        self._source = source

    @property
    def identity(self) -> str:
        """The digest of everything apart from its text that decides a vector."""
        identity = self._encoder.identity
        return digest(identity, self._source) if self._source else identity

    def look_up(self, texts: Sequence[str]) -> Lookup:
        """Return the vectors of `texts` in the cache, and the texts that it lacks."""
        keys = self._keys(texts)
        known = self._cache.get_many(VECTORS_KIND, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        return Lookup(texts, keys, known, list(missing), list(missing.values()))

    def stack(self, lookup: Lookup) -> Vectors:
        """Return one row per text, all of them known. Raises AssayError if one is wrong."""
        rows = [lookup.known[key] for key in lookup.keys]
        self.check_sizes({len(row) // 4 for row in rows})
        # A copy: numpy asks the system for large memory pages for arrays of its own, and scanning
        # 100,000 vectors then takes three quarters of the time.
        vectors = np.frombuffer(b"".join(rows), np.float32).reshape(len(rows), -1).copy()
        return check_vectors(self._name, vectors, lookup.texts, CACHED.format(kind=VECTORS_KIND))

    def check_sizes(self, sizes: Set[int]) -> None:
        """Raise AssayError unless all vectors have one size."""
        if len(sizes) > 1:
            raise AssayError(
                f"{self._name}: its vectors have {min(sizes)} or {max(sizes)} dimensions: another"
                " model answers by this name; `assay cache clear embeddings` forgets those before"
            )

    def _keys(self, texts: Sequence[str]) -> list[str]:
        identity = self.identity
        return [digest(identity, text) for text in texts]

    def recall(self, kind: str, texts: Sequence[str]) -> float | None:
        """Return the sum of the numbers kept as `kind` of the distinct `texts`.

        None if some text has none.
        """
        names, numbers = array("Q"), array("d")
        for begin in range(0, len(texts), PART):
            keys = self._keys(texts[begin : begin + PART])
            known = self._cache.get_many(kind, keys)
            if not known.keys() >= set(keys):
                return None
            for key in keys:
                names.append(int(key[:16], 16))  # of millions, no two begin alike
                numbers.append(NUMBER.unpack(known[key])[0])
        _, first = np.unique(np.asarray(names), return_index=True)
        return fsum(np.asarray(numbers)[first])
