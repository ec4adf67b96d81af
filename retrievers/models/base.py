"""What a model is to the rest of the pipeline."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Encoder(ABC):
    """Turns texts into vectors of unit length, so that a dot product is their cosine."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of the weights and of all settings that change a passage's vector."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text: float32, shape (len(texts), dimensions)."""

    @abstractmethod
    def encode_query(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,)."""

    def facts(self) -> Mapping[str, Any]:
        """What identifies the model: name, build, digest of its files. JSON values."""
        return {}


class CrossEncoder(ABC):
    """Scores a query and a passage read together."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of the weights and of all settings that change a score."""

    @abstractmethod
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text, higher is better, in the model's own unit: see the key `scores`
        of its settings.

        The score of a pair does not depend on the other texts of the call.
        """

    def facts(self) -> Mapping[str, Any]:
        """What identifies the model: name, build, digest of its files. JSON values."""
        return {}
