"""Stages that drop hits: those that repeat a better one, and too many of a document."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import Chunk, Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings


class ContentHashSettings(StageSettings):
    """Drops hits whose text, white space apart, is that of a better hit."""

    type: Literal["content_hash"]

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return ContentHash()


class ContentHash(Stage):
    """Compares passages by the SHA-256 of their title and text, each run of white space one."""

    def __init__(self) -> None:
        self._hashes: Mapping[str, bytes] = {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Hash every chunk."""
        self._hashes = {chunk.id: hash_content(chunk) for chunk in corpus.chunks}

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the best hit of each content."""
        kept: dict[bytes, Hit] = {}
        for hit in hits:
            kept.setdefault(self._hashes[hit.chunk.id], hit)
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits that read as a better one does" if dropped else ""
        return StageResult(list(kept.values()), note, {"in": len(hits), "out": len(kept)})


def hash_content(chunk: Chunk) -> bytes:
    """Return the digest of what a reader sees of `chunk`."""
    words = f"{chunk.title}\n{chunk.text}".split()
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()


class Similarity:
    """The cosines of indexed chunks. Vectors are shared with every leg of the same encoder."""

    def __init__(self, encoder: CachingEncoder) -> None:
        self._encoder = encoder
        self._positions: Mapping[str, int] = {}
        self._vectors: Vectors = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> None:
        """Encode the chunks, where that has not been done."""
        self._positions = corpus.positions
        self._vectors = corpus.encode(self._encoder).vectors

    def compare(self, hits: Sequence[Hit]) -> NDArray[np.floating]:
        """Return the cosine of every two of `hits`, shape (hits, hits)."""
        rows = self._vectors[[self._positions[hit.chunk.id] for hit in hits]]
        return np.asarray(rows @ rows.T)

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder."""
        return self._encoder.metadata()


def keep_unlike(similarity: NDArray[np.floating], threshold: float) -> list[int]:
    """Return the rows that remain when each that resembles a kept one before it is dropped.

    `similarity` has shape (hits, hits); two rows resemble each other from `threshold`.
    """
    kept: list[int] = []
    close = similarity >= threshold
    for row in range(len(close)):
        if not close[row, kept].any():
            kept.append(row)
    return kept


Unit = Literal["word", "character"]

# An odd number whose bits are well mixed: the golden ratio's, as in Knuth's multiplicative hashing.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


class NgramSettings(StageSettings):
    """Drops hits that share most of their n-grams with a better hit."""

    type: Literal["ngram"]
    unit: Unit = Field(
        "word", description="what n-grams are made of: words, or characters other than white space"
    )
    n: int = Field(3, ge=1, le=16, description="how many words or characters an n-gram has")
    threshold: float = Field(
        0.7, gt=0, le=1, description="the Jaccard similarity from which two hits are one"
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Ngram(self)


class Ngram(Stage):
    """Compares the sets of n-grams of passages, in lower case, by their Jaccard similarity.

    A passage of fewer than n words or characters has no n-grams and resembles none.
    """

    def __init__(self, settings: NgramSettings) -> None:
        self._settings = settings
        self._positions: Mapping[str, int] = {}
        self._sizes: NDArray[np.int64] = np.empty(0, np.int64)
        self._shared: Sequence[NDArray[np.int32]] = ()
        self._hashes: Mapping[str, bytes] = {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Number the n-grams that more than one chunk has: no other can be shared."""
        texts = (chunk.text for chunk in corpus.chunks)
        sets = hash_ngrams(texts, self._settings.unit, self._settings.n)
        self._positions = corpus.positions
        self._hashes = {chunk.id: hash_content(chunk) for chunk in corpus.chunks}
        self._sizes = np.array([len(ngrams) for ngrams in sets], np.int64)
        everywhere = np.sort(np.concatenate([np.empty(0, np.uint64), *sets]))
        common = np.unique(everywhere[1:][everywhere[1:] == everywhere[:-1]])
        self._shared = [_number(ngrams, common) for ngrams in sets]

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` without those that resemble one kept before them.

        The counts say how many read as a better one does, white space apart, and how many of
        those are dropped.
        """
        positions = [self._positions[hit.chunk.id] for hit in hits]
        threshold = self._settings.threshold
        kept = keep_unlike(self._compare(positions), threshold)
        dropped = len(hits) - len(kept)
        what = f"{self._settings.unit} {self._settings.n}-grams"
        note = f"dropped {dropped} hits that share {threshold:g} of the {what} with a better one"
        after = [hits[i] for i in kept]
        exact = self._count_exact(hits)
        gone = exact - self._count_exact(after)
        counts = {"in": len(hits), "out": len(kept), "exact": exact, "exact_dropped": gone}
        return StageResult(after, note if dropped else "", counts)

    def _count_exact(self, hits: Sequence[Hit]) -> int:
        return len(hits) - len({self._hashes[hit.chunk.id] for hit in hits})

    def _compare(self, positions: Sequence[int]) -> NDArray[np.float64]:
        """Return the Jaccard similarity of every two of the chunks, shape (hits, hits)."""
        shared = [self._shared[i] for i in positions]
        found, columns = np.unique(np.concatenate([_NONE, *shared]), return_inverse=True)
        rows = np.repeat(np.arange(len(shared)), [len(ngrams) for ngrams in shared])
        member = np.zeros((len(shared), len(found)), np.float32)
        member[rows, columns] = 1
        # Of the n-grams here, those of a single hit only cost time.
        member = member[:, member.sum(axis=0) > 1]
        both = (member @ member.T).astype(np.float64)
        sizes = self._sizes[list(positions)]
        either = sizes[:, None] + sizes[None, :] - both
        return np.divide(both, either, out=np.zeros_like(both), where=either > 0)


_NONE: NDArray[np.int32] = np.empty(0, np.int32)


def hash_ngrams(texts: Iterable[str], unit: Unit, n: int) -> list[NDArray[np.uint64]]:
    """Return the distinct n-grams of each text as 64-bit hashes, in ascending order."""
    words: dict[str, int] = {}
    found = []
    for text in texts:
        parts = text.lower().split()
        if unit == "word":
            units = np.array([words.setdefault(part, len(words)) for part in parts], np.uint64)
        else:
            codes = "".join(parts).encode("utf-32-le", "surrogatepass")
            units = np.frombuffer(codes, "<u4").astype(np.uint64)
        found.append(np.unique(_roll(units, n)))
    return found


def _roll(units: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return a hash of every `n` units in a row; the arithmetic is modulo 2**64."""
    count = max(len(units) - n + 1, 0)
    hashes: NDArray[np.uint64] = np.zeros(count, np.uint64)
    for offset in range(n):
        hashes = (hashes ^ (units[offset : offset + count] + np.uint64(1))) * MULTIPLIER
        hashes ^= hashes >> SHIFT
    return hashes


def _number(ngrams: NDArray[np.uint64], common: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the places in `common`, which is in order, of those `ngrams` that it holds."""
    places = np.searchsorted(common, ngrams)
    inside = places < len(common)
    places, ngrams = places[inside], ngrams[inside]
    found: NDArray[np.int32] = places[common[places] == ngrams].astype(np.int32)
    return found


class SemanticSettings(StageSettings):
    """Drops hits whose embedding is close to that of a better hit."""

    type: Literal["semantic"]
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings,
        description="the embedding model, or its name; a dense leg's own costs nothing more",
    )
    threshold: float = Field(
        0.85, gt=-1, lt=1, description="the cosine from which two hits are one"
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Semantic(self.encoder.build(resources), self.threshold)


class Semantic(Stage):
    """Drops a hit whose cosine to one that is kept is at least `threshold`."""

    def __init__(self, encoder: CachingEncoder, threshold: float) -> None:
        self._similarity = Similarity(encoder)
        self._threshold = threshold

    def index(self, corpus: Corpus, top: float) -> None:
        """Take the chunks' vectors."""
        self._similarity.index(corpus)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` without those that resemble one kept before them."""
        kept = keep_unlike(self._similarity.compare(hits), self._threshold)
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits of cosine {self._threshold:g} or more with a better one"
        return StageResult(
            [hits[i] for i in kept],
            note if dropped else "",
            {"in": len(hits), "out": len(kept)},
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder."""
        return {"encoder": dict(self._similarity.metadata())}


class PerDocumentSettings(StageSettings):
    """Keeps only the best few hits of each document."""

    type: Literal["per_document"]
    limit: int = Field(2, ge=1, description="how many hits of one document are kept")

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return PerDocument(self.limit)


class PerDocument(Stage):
    """Drops the hits of a document beyond its first `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` without those beyond the limit of their document."""
        seen: Counter[str] = Counter()
        kept = []
        for hit in hits:
            seen[hit.chunk.doc_id] += 1
            if seen[hit.chunk.doc_id] <= self._limit:
                kept.append(hit)
        crowded = sum(number > self._limit for number in seen.values())
        note = f"dropped {len(hits) - len(kept)} hits of {crowded} documents" if crowded else ""
        return StageResult(kept, note, {"in": len(hits), "out": len(kept)})
