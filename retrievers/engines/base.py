"""The contract of engines: stores with a dense and a keyword index that fuse their own lists."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError, IndexReport
from assay.retrievers.engines.capabilities import SEARCHES, Capabilities, Search
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings


class LegDepths(Settings):
    """Candidates of each list that enter the engine's fusion."""

    dense: int = Field(100, ge=1, description="candidates of the dense list")
    keyword: int = Field(100, ge=1, description="candidates of the keyword list")


class LegWeights(Settings):
    """Weight of each list in the engine's fusion; one of weight 0 is not asked for."""

    dense: float = Field(1.0, ge=0, description="weight of the dense list")
    keyword: float = Field(1.0, ge=0, description="weight of the keyword list")

    @model_validator(mode="after")
    def _counts_a_list(self) -> "LegWeights":
        if not self.dense and not self.keyword:
            raise ValueError("one of dense and keyword must be above 0")
        return self


class StoreSettings(Settings, ABC):
    """Base of every engine's settings."""

    capabilities: ClassVar[Capabilities]
    # The dotted key of the setting for the language of analysis, if languages are named as
    # elsewhere.
    language_key: ClassVar[str] = ""
    type: str = "python"
    depth: LegDepths = Field(
        default_factory=LegDepths, description="candidates of each list that enter fusion"
    )

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches that the engine offers with these settings."""
        return self.capabilities.searches

    def describe_lack(self, search: Search) -> str:
        """Return one line saying that the engine lacks this search, and what to do instead."""
        if search in self.capabilities.searches:
            own = " and ".join(self.searches)
            return f"{self.type} has no {search} search with these settings, only {own}"
        return self.capabilities.describe_lack(self.type, search)

    @model_validator(mode="after")
    def _has_lists_to_cut(self) -> "StoreSettings":
        if self.capabilities.fuses == "here" and self.depth != LegDepths():
            raise ValueError("depth: nothing is fused in this engine; set the `depth` of the leg")
        return self

    @abstractmethod
    def build(self, resources: Resources) -> "Engine":
        """Return the engine, which has indexed nothing yet. Raises AssayError."""


class EngineLists(NamedTuple):
    """The two lists that an engine fuses, each best first."""

    dense: list[Scored]
    keyword: list[Scored]


class Engine(ABC):
    """One collection in one engine. Searches give (position in the indexed texts, score) pairs.

    They are safe to call from several threads, and return nothing if nothing is indexed. A text
    is data: no character of it is an operator of the engine's query language. Every method raises
    AssayError, in one line that names the engine, for errors that the user can correct, and, once
    texts are indexed, for a search that is not among its `searches`.
    """

    depth: LegDepths
    searches: tuple[Search, ...] = SEARCHES

    @property
    def reproducible(self) -> bool:
        """True if an index rebuilt from the same texts gives the same rankings."""
        return True

    @abstractmethod
    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Make `texts` searchable, in place of any before; they may be found built already.

        `vectors` has one row per text, float32 of unit length; `identity` is that of their encoder.
        Without dense search the rows may be empty. An interrupted call leaves nothing that a later
        one would take for complete.
        """

    @abstractmethod
    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, best first, equal scores by position."""

    @abstractmethod
    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts that share terms with `text`, best first, equal scores by position."""

    @abstractmethod
    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the engine's own fusion of both, best first, equal scores by position.

        The fusion does not depend on `limit`: a smaller one gives the head of the same list.
        """

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The fusion formula in the engine's documentation, with these settings.

        For an engine that fuses nothing, the description of its one list.
        """

    def restrict(self, allowed: Positions) -> "Engine | None":
        """Return the engine on the same index, finding only the texts at `allowed` (ascending).

        Both lists that it fuses hold these texts only. None if the engine cannot restrict a search.
        """
        return None

    def relate(self, documents: Mapping[str, Sequence[int]]) -> None:
        """Take the positions, in their order, of the texts of each document to be indexed next.

        Most engines have no use for them.
        """

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the positions right before and after each of `positions`, in its document.

        None if the engine does not store these links.
        """
        return None

    def lists(self, text: str, vector: Vectors) -> EngineLists:
        """Return the two lists that `hybrid` fuses, each fetched alone, in the fusion's order."""
        return EngineLists(
            self.dense(vector, self.depth.dense), self.keyword(text, self.depth.keyword)
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts that identify the engine and its index, as JSON; known after `index`.

        `engine`, `version`, `exact`, and if dense search is not exact `recall_against_exact`,
        as `assay.retrievers.engines.recall.measure_recall` gives it.
        """
        return {}

    @abstractmethod
    def close(self) -> None:
        """Release files, processes and connections; may be called twice."""


def check_dimensions(engine: str, vector: Vectors, dimensions: int) -> None:
    """Raise AssayError if `vector` has other dimensions than the indexed vectors."""
    if len(vector) != dimensions:
        raise AssayError(
            f"{engine}: a vector of {len(vector)} dimensions was asked for; those indexed have "
            f"{dimensions}"
        )
