"""The contract of query steps: a request in, a request out, before any leg searches."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.base import Kind, LegSettings
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.settings import Resources, Settings


@dataclass(frozen=True, slots=True)
class StepResult:
    """The request a step hands on; in words and numbers what it did, if that is not obvious.

    `degraded` says in words that the step failed, and how the search went on without it.
    """

    request: LegQuery
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    degraded: str = ""


# The kind of each leg by its name.
LegKinds = Mapping[str, Kind]


class QueryStep(ABC):
    """One step before the legs. Stateless between queries but for caches."""

    def index(self, corpus: Corpus) -> None:
        """Learn what the step needs of `corpus`, in place of any before."""

    @abstractmethod
    def apply(self, request: LegQuery) -> StepResult:
        """Return the step's result for `request`. Safe to call from threads."""

    def restrict(self, documents: Set[str]) -> "QueryStep":
        """Return the same step, knowing these documents only, in its results and its notes.

        One that learns of the corpus overrides it. A plug-in that does not is made again for them.
        """
        return self

    def without_query_cache(self) -> "QueryStep":
        """Return the same step with every per-query cache off."""
        return self

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts that identify this step beyond its settings, as JSON."""
        return {}


class QueryStepSettings(Settings, ABC):
    """Base of every query step's settings."""

    type: str = "python"

    # True if legs then hand on ranks only, whatever scores they give.
    ranks_alone: ClassVar[bool] = False

    def find_misfit(self, legs: Mapping[str, LegSettings]) -> str:
        """Say in words why the step is of no use to a pipeline of these `legs`; "" if it is."""
        return ""

    @abstractmethod
    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step, for a pipeline of these `legs`."""
