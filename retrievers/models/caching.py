"""The cache in front of every encoder of one vector per text."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from math import fsum
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.models.base import TEXTS_PER_PART, EncodedPart, Encoder, Vectors
from assay.retrievers.models.vector_check import CACHED, check_vectors
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.prices import FREE, Prices, Usage
from assay.retrievers.services.retries import count_wait
from assay.retrievers.settings import Resources, Spread
from assay.retrievers.store.arrays import ArrayFile
from assay.retrievers.store.cache import BatchedWrites, Cache
from assay.retrievers.store.digest import digest, digest_texts

MAPPED_KIND = "vectors"  # of all texts of a large corpus, in their order
VECTORS = "vectors.npy"
MOST_HELD = 1 << 17  # texts whose vectors are held in memory
ROUNDING = 1e-6  # a mean of unit vectors no longer than this has no direction


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """One row per text, and how many distinct texts had to be encoded for it."""

    vectors: Vectors
    fresh: int


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


class CachingEncoder(Encoder):
    """Keeps the vector of every passage by its text. Queries are encoded each time.

    Safe in several threads and processes: at worst two of them encode the same text. `source` is
    the digest of its code, where that is not this project's. With `spread` others encode many
    texts.
    """

    def __init__(
        self,
        encoder: Encoder,
        name: str,
        resources: Resources,
        source: str = "",
        spread: Spread | None = None,
    ) -> None:
        self._entries = VectorCache(resources.cache, encoder, name, source)
        self._spread = spread
        self._encoder = encoder
        self._name = name
        self._resources = resources
        self._size = 0  # of the vectors seen

    @property
    def identity(self) -> str:
        """The identity of the encoder behind the cache."""
        return self._entries.identity

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; of no texts, shape (0, 0)."""
        return self.encode(texts).vectors

    @property
    def prices(self) -> Prices | None:  # type: ignore[override]
        """The prices of the encoder behind the cache."""
        return self._encoder.prices

    @property
    def charged(self) -> bool:
        """True if a service is called that charges, or may charge."""
        return self.prices != FREE

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of `texts` and how many were not in the cache."""
        if not texts:
            return EncodedTexts(np.empty((0, 0), np.float32), 0)
        held = len(texts) <= MOST_HELD
        encoded = self._encode_held(texts) if held else self._encode_mapped(texts)
        self._size = encoded.vectors.shape[1]
        return encoded

    def find_missing(self, texts: Sequence[str]) -> list[str]:
        """Return the distinct `texts` whose vectors are not in the cache."""
        return list(self._entries.look_up(texts).wanted)

    def keep(self, texts: Sequence[str]) -> int:
        """Encode what is not in the cache yet, and return how many texts that were."""
        return self.encode(texts).fresh

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None if some vector is from a time when seconds were not recorded.
        """
        return self._entries.recall(SECONDS_KIND, texts)

    def recall_bill(self, texts: Sequence[str]) -> Mapping[str, Any] | None:
        """Return the tokens that a service counted for the distinct `texts`, and their cost in
        US dollars today, None if no price is known; None if no service is called.
        """
        if not self.charged or (tokens := self._entries.recall(TOKENS_KIND, texts)) is None:
            return None
        usage = Usage(round(tokens))
        return {"tokens": usage.input, "usd": self.prices and self.prices.cost(usage)}

    def encode_query(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,)."""
        given = np.asarray(self._encoder.encode_query(text))
        vector: Vectors = check_vectors(self._name, given[np.newaxis], [text])[0]
        if self._size and len(vector) != self._size:
            raise AssayError(
                f"{self._name}: the vector of a query has {len(vector)} dimensions, those of"
                f" passages {self._size}"
            )
        return vector

    def encode_near(self, query: str, passages: Sequence[str]) -> Vectors:
        """Return the mean of the vectors of `query` and of `passages`, at unit length.

        It is the query's alone where there are no passages, or where all cancel out. Passages are
        encoded each time, as queries are: they are of one query.
        """
        vector = self.encode_query(query)
        if not passages:
            return vector
        rows = [vector]
        for part in self._encoder.encode_parts(passages):
            charges.record(part.usage, self.prices)
            count_wait(part.retries, part.waited / 1e3)
            rows.extend(self._check(part, passages))
        mean = np.mean(rows, axis=0, dtype=np.float64)
        length = np.linalg.norm(mean)
        return np.asarray(mean / length, np.float32) if length > ROUNDING else vector

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder behind the cache."""
        return self._encoder.metadata()

    def _encode_held(self, texts: Sequence[str]) -> EncodedTexts:
        lookup = self._entries.look_up(texts)
        fresh = sum(self._track(self._encode_missing(lookup), len(lookup.missing)))
        return EncodedTexts(self._entries.stack(lookup), fresh)

    def _encode_mapped(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors in a file of the cache, which is mapped into memory."""
        fresh = 0

        def make(folder: Path) -> None:
            nonlocal fresh
            fresh = sum(self._track(self._write_vectors(texts, folder), len(texts)))

        def read(folder: Path) -> Vectors:
            # A plain view: numpy is slower on its memmap class.
            return np.asarray(np.load(folder / VECTORS, mmap_mode="r"))

        key = digest("checked", self.identity, digest_texts(texts))
        return EncodedTexts(self._resources.cache.load(MAPPED_KIND, key, make, read)[1], fresh)

    def _write_vectors(self, texts: Sequence[str], folder: Path) -> Iterator[bool]:
        """Write the vectors part by part; yield of each text whether it had to be encoded."""
        sizes = set[int]()
        with ExitStack() as stack:
            for begin in range(0, len(texts), PART):
                lookup = self._entries.look_up(texts[begin : begin + PART])
                yield from repeat(False, len(lookup.keys) - len(lookup.missing))
                yield from self._encode_missing(lookup)
                vectors = self._entries.stack(lookup)
                size = vectors.shape[1]
                sizes.add(size)
                self._entries.check_sizes(sizes)
                if not begin:
                    file = ArrayFile(folder / VECTORS, np.float32, len(texts), size)
                    stack.enter_context(file)
                file.add(vectors)

    def _check(self, part: EncodedPart, texts: Sequence[str]) -> Vectors:
        return check_vectors(self._name, part.vectors, [texts[i] for i in part.positions])

    def _track(self, encoded: Iterable[bool], total: int) -> Iterator[bool]:
        what = f"embedding with {self._name}"
        return self._resources.progress.track(encoded, what, total)

    def _encode_missing(self, lookup: Lookup) -> Iterator[bool]:
        """Make the missing vectors known, and yield True for each as it comes."""
        if self._spread and len(lookup.missing) > TEXTS_PER_PART:
            for _ in self._spread(self, lookup.wanted):
                yield True
            lookup.known.update(self._resources.cache.get_many(VECTORS_KIND, lookup.missing))
        elif lookup.missing:
            for values in self._encode_parts(lookup.missing, lookup.wanted):
                lookup.known.update(values)
                yield from repeat(True, len(values))

    def _encode_parts(
        self, keys: Sequence[str], texts: Sequence[str]
    ) -> Iterator[dict[str, bytes]]:
        """Yield vectors by key, part by part, those that are paid for once they are stored."""
        with BatchedWrites(self._resources.cache) as gathered:
            for part in self._encoder.encode_parts(texts):
                block = [keys[i] for i in part.positions]
                share = NUMBER.pack(part.seconds / len(block))
                gathered.add(SECONDS_KIND, dict.fromkeys(block, share))
                rows = self._check(part, texts)
                values = {key: row.tobytes() for key, row in zip(block, rows, strict=True)}
                if self.charged:
                    sizes = [len(texts[i].encode()) + 1 for i in part.positions]
                    gathered.add(TOKENS_KIND, _share(part.usage.prompt, block, sizes))
                gathered.add(VECTORS_KIND, values)
                if self.charged:
                    gathered.store()
                else:
                    gathered.store_in_time()
                yield values


def _share(tokens: int, keys: Sequence[str], sizes: Sequence[int]) -> dict[str, bytes]:
    """Return each text's share of the tokens of a call, by its size."""
    total = sum(sizes)
    return {key: NUMBER.pack(tokens * size / total) for key, size in zip(keys, sizes, strict=True)}
