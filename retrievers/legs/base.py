"""What a leg is: one searchable index of the chunks, giving one ranked list a query."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrievers.base import Chunk, IndexReport
from retrievers.ranking import Scored


@dataclass(frozen=True, slots=True)
class LegResult:
    """A leg's ranked list as (position in the indexed chunks, score), best first.

    `milliseconds` gives the time of each step (`encode`, `search`, …) in the order they ran.
    """

    candidates: list[Scored]
    milliseconds: Mapping[str, float]


class Leg(ABC):
    """One index over the chunks of a collection."""

    @abstractmethod
    def index(self, chunks: Sequence[Chunk]) -> IndexReport:
        """Make `chunks` searchable by their `searchable` text, in place of any before.

        `chunks` are in descending order of id and may be empty.
        """

    @abstractmethod
    def search(self, query: str, depth: int) -> LegResult:
        """Return at most `depth` chunks that match `query`, equal scores by position.

        Safe to call from several threads. `depth` may exceed the number of chunks.
        """

    def facts(self) -> Mapping[str, Any]:
        """What identifies this leg beyond its settings (digests, versions). JSON values."""
        return {}

    def close(self) -> None:
        """Release what the leg holds."""
