"""The contract of legs: a searchable index of the chunks that gives one ranked list per query."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.settings import Resources, Settings

# What a leg goes by. A pipeline's `mode` chooses among its legs by it.
Kind = Literal["semantic", "keyword", "exact", "graph", "hybrid"]


@dataclass(frozen=True, slots=True)
class LegResult:
    """A leg's ranked list as (position in the indexed chunks, score), best first.

    - `milliseconds`: the time of each step (`encode`, `search`, …) in the order they ran.
    - `note`: the reason for these chunks in words, if it is not obvious.
    - `counts`: numbers for the trace, by name.
    - `waited`: the milliseconds lost to calls that failed and were retried, which `milliseconds`
      leaves out.
    - `cpu`: this process's CPU time in each step, in milliseconds; steps whose time is unknown are
      missing.
    - `unboosted`: the positions that get no boost in fusion, because the leg cannot decide which of
      them the query means.
    """

    candidates: Sequence[Scored]
    milliseconds: Mapping[str, float]
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    waited: float = 0.0
    cpu: Mapping[str, float] = field(default_factory=dict)
    unboosted: frozenset[int] = frozenset()


class Leg(ABC):
    """One index over the chunks of a collection.

    It is `nondeterministic` if a rebuilt index may give other lists.
    """

    nondeterministic: bool = False

    @abstractmethod
    def index(self, corpus: Corpus) -> IndexReport:
        """Make the chunks of `corpus`, possibly none, searchable in place of any before.

        A leg searches their `searchable` text unless it says otherwise.
        """

    @abstractmethod
    def search(self, query: str, depth: int) -> LegResult:
        """Return at most `depth` chunks that match `query`, equal scores by position.

        Safe to call from several threads. `depth` may exceed the number of chunks.
        """

    def follow(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Search as `search` does, for a leg that starts from the lists `found` by earlier legs."""
        return self.search(query, depth)

    def deepen(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Search as `follow` does, but deeper, for a query searched before; its times are ignored.

        A leg may reuse what it kept of the earlier search.
        """
        return self.follow(query, depth, found)

    def search_near(self, query: str, passages: Sequence[str], depth: int) -> LegResult:
        """Search as `search` does, by the mean of the vectors of the query and of `passages`.

        Called only for legs whose settings are `by_vector`.
        """
        raise NotImplementedError

    def restrict(self, allowed: Positions) -> "Leg | None":
        """Return the leg on the same index, finding only the chunks at `allowed` (ascending).

        None if it cannot: then more chunks are requested, and the forbidden ones dropped.
        """
        return None

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the positions right before and after each of `positions`, in its document.

        None if no store that the leg searches keeps these links.
        """
        return None

    def without_query_cache(self) -> "Leg":
        """Return the same leg, on the same index, with every per-query cache off."""
        return self

    def metadata(self) -> Mapping[str, Any]:
        """Return digests and versions that identify this leg beyond its settings, as JSON."""
        return {}

    def close(self) -> None:
        """Release what the leg holds."""


class ScoringLeg(Leg):
    """A leg that scores chunks one by one, and skips those that may not be found."""

    _allowed: Positions | None = None

    def restrict(self, allowed: Positions) -> "Leg | None":
        """Return the leg on the same index, finding only the chunks at `allowed` (ascending)."""
        other = copy.copy(self)
        other._allowed = allowed
        return other


class LegSettings(Settings, ABC):
    """Base of every leg's settings, and what else of the project must know of such a leg."""

    type: str = "python"
    depth: int = Field(100, ge=1, description="candidates handed on")

    # The values worth trying in `assay tune`, by key.
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # True if its list to a smaller depth is the head of that to a larger one.
    prefix_stable: ClassVar[bool] = False
    # True if it searches by one vector of the query, and so has `search_near`.
    by_vector: ClassVar[bool] = False

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The kind of evidence that the leg uses; set once per class."""

    @property
    def cuts_short(self) -> bool:
        """True if an encoder of this leg reads only the part of a chunk that fits its window."""
        return True

    @property
    def provider(self) -> str:
        """The engine that fuses its lists, if one does."""
        return ""

    @abstractmethod
    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
