"""The contracts of models in the rest of the pipeline."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import AssayError, cut
from assay.retrievers.services.prices import FREE, Prices, Usage

Vectors = NDArray[np.float32]
SHOWN = 40  # characters of a text

TEXTS_PER_PART = 64  # the most texts whose vectors a killed run loses


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """A part of the texts given, encoded.

    - `positions`: the positions of its texts among those given.
    - `vectors`: one row per text.
    - `seconds`, `usage`: the time for all of them, and the usage that a service counted.
    - `retries`, `waited`: the failed calls before it, and the milliseconds lost on them.
    """

    positions: Sequence[int]
    vectors: Vectors
    seconds: float
    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    waited: float = 0.0


class Model(ABC):
    """The base of all models: their identity."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The digest of the weights and of all settings that change the output for a passage."""

    def metadata(self) -> Mapping[str, Any]:
        """Return what identifies the model, as JSON: name, build, digest of its files."""
        return {}


class Encoder(Model):
    """Turns texts into vectors of unit length, so that a dot product is their cosine.

    `prices` are its charges: nothing on this machine; None if they are not known.
    """

    prices: Prices | None = FREE

    @property
    def texts_per_part(self) -> int:
        """The number of texts encoded before they are stored."""
        return TEXTS_PER_PART

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text: float32, shape (len(texts), dimensions)."""

    def encode_parts(self, texts: Sequence[str]) -> Iterator[EncodedPart]:
        """Yield the rows of `texts`, each once, as they come; rows yielded can be stored."""
        size = self.texts_per_part
        for begin in range(0, len(texts), size):
            block = texts[begin : begin + size]
            start = time.perf_counter()
            vectors = self.encode_passages(block)
            seconds = time.perf_counter() - start
            yield EncodedPart(range(begin, begin + len(block)), vectors, seconds)

    @abstractmethod
    def encode_query(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,)."""


class CrossEncoder(Model):
    """Scores a query and a passage read together.

    `prices` are as an encoder's, per `unit`. A `listwise` one reads all texts of a call together:
    the score of a pair depends on the others, and expresses only a rank.
    """

    prices: Prices | None = FREE
    unit: str = "tokens"
    listwise: bool = False

    @abstractmethod
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text, higher is better, in the model's own unit.

        The key `scores` of its settings names the unit.

        The score of a pair does not depend on the other texts of the call, unless it is `listwise`.
        """

    def expect(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the usage that the service should count for a call, without making it."""
        return Usage()

    def count_cut(self, query: str, texts: Sequence[str]) -> int:
        """Return the number of texts that the model does not read to their end with `query`.

        It is 0 if unknown, as for a service.
        """
        return 0


@dataclass(frozen=True, slots=True)
class SparseVector:
    """The terms of a text by their number in the model's vocabulary, rising, and their weights.

    Weights are positive.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, row: NDArray[np.float32]) -> Self:
        """Return the entries above 0 of a row as wide as the vocabulary.

        Raises AssayError for a number that is not finite: NaN is above nothing, and would be lost.
        """
        if not np.isfinite(row).all():
            raise AssayError("a sparse vector has a weight that is not finite")
        terms = np.flatnonzero(row > 0).astype(np.int32)
        return cls(terms, row[terms].astype(np.float32))

    def check(self, name: str, text: str, way: str = "") -> Self:
        """Return this vector. Raises AssayError, which ends with the `way` out, unless each weight
        that the encoder `name` gave `text` is finite and above 0.
        """
        if not np.all((self.weights > 0) & (self.weights < np.inf)):
            raise AssayError(
                f"{name}: the sparse vector of {cut(text, SHOWN)!r} has a weight that is not above "
                f"0 and finite{'; ' if way else ''}{way}"
            )
        return self

    def to_bytes(self) -> bytes:
        """Return terms and weights, one after the other."""
        return self.terms.tobytes() + self.weights.tobytes()

    @classmethod
    def from_bytes(cls, value: bytes) -> Self:
        """Return the vector that `to_bytes` made `value` of."""
        half = len(value) // 2
        return cls(np.frombuffer(value[:half], np.int32), np.frombuffer(value[half:], np.float32))


class SparseEncoder(Model):
    """Turns texts into weights of terms, so that a dot product is their score."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return one vector per text."""

    @abstractmethod
    def encode_query(self, text: str) -> SparseVector:
        """Return the vector of a query."""


class TokenEncoder(Model):
    """Turns a text into a unit vector for each of its tokens; a text has at least one token."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (tokens, dimensions)."""

    @abstractmethod
    def encode_query(self, text: str) -> Vectors:
        """Return the vectors of a query: float32, shape (tokens, dimensions)."""
