"""What an encoder that keeps a vector a token is to the rest of the pipeline."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from assay.retrievers.models.base import Vectors


class TokenEncoder(ABC):
    """Turns a text into a vector of unit length for each of its tokens, of which there is one."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of the weights and of all settings that change a passage's vectors."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (tokens, dimensions)."""

    @abstractmethod
    def encode_query(self, text: str) -> Vectors:
        """Return the vectors of a query: float32, shape (tokens, dimensions)."""

    @abstractmethod
    def metadata(self) -> Mapping[str, Any]:
        """What identifies the model: name, build, digest of its files. JSON values."""
