"""What an engine is: a store with a dense and a keyword index that fuses their lists itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from retrievers.base import IndexReport
from retrievers.models.base import Vectors
from retrievers.ranking import Scored


class Engine(ABC):
    """One collection in one engine. Searches give (position in the indexed texts, score) pairs.

    They are safe to call from several threads, and give nothing where nothing is indexed.
    """

    @abstractmethod
    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Make `texts` searchable, in place of any before.

        `vectors` has one row a text, float32 of unit length; `identity` is that of their encoder.
        """

    @abstractmethod
    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts nearest to `vector`, in the order in which the engine fuses them."""

    @abstractmethod
    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts that share terms with `text`, in the order the engine fuses them."""

    @abstractmethod
    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the engine's own fusion of both, best first, equal scores by position."""

    def facts(self) -> Mapping[str, Any]:
        """What identifies the engine and its index, as JSON values; known after `index`."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Release files, processes and connections."""
