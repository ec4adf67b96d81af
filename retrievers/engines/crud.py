"""Rows that change while they are searched: puts and deletions, apart from any index."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors


class LiveRows(ABC):
    """Rows of an id and a vector of unit length, which are gone when they are closed.

    One thread may put and delete while others search. What a call has put or deleted, searches
    that begin later see. Methods raise what the store raises.
    """

    @abstractmethod
    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows, in place of those that have the same ids; `vectors` is float32, a row each."""

    @abstractmethod
    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows; those that are not there are no error."""

    @abstractmethod
    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return (id, cosine) of the nearest rows, at most `limit`, best first."""

    @abstractmethod
    def close(self) -> None:
        """Remove all of it; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class LiveFiles(LiveRows):
    """Rows in a temporary folder of this process."""

    folder: OwnFolder = field(kw_only=True)

    def close(self) -> None:
        """Close what is open, and remove the folder."""
        self.release()
        self.folder.close()

    @abstractmethod
    def release(self) -> None:
        """Close what is open; may be called twice."""
