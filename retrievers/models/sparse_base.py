"""What a sparse encoder is to the rest of the pipeline."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import AssayError, cut

SHOWN = 40  # characters of a text


@dataclass(frozen=True, slots=True)
class SparseVector:
    """The terms of a text by their number in the model's vocabulary, rising, and their weights.

    Weights are positive.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, row: NDArray[np.float32]) -> Self:
        """Return what is above 0 in a row as wide as the vocabulary.

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


class SparseEncoder(ABC):
    """Turns texts into weights of terms, so that a dot product is their score."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of the weights and of all settings that change a passage's vector."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return one vector a text."""

    @abstractmethod
    def encode_query(self, text: str) -> SparseVector:
        """Return the vector of a query."""

    def metadata(self) -> Mapping[str, Any]:
        """What identifies the model: name, build, digest of its files. JSON values."""
        return {}
