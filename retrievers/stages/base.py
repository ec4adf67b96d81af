"""What a stage is: hits in, hits out."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

from retrievers.base import Hit
from retrievers.corpus import Corpus
from retrievers.settings import Settings, Workshop

# The one order in which stages may stand; of those on one line a pipeline has at most one.
ORDER = (
    ("recency",),
    ("calibrate",),
    ("threshold",),
    ("content_hash",),
    ("ngram",),
    ("semantic", "mmr"),
    ("per_document",),
    ("rerank",),
    ("parents", "neighbours"),
    ("definitions",),
    ("context",),
)


@dataclass(frozen=True, slots=True)
class StageResult:
    """The hits a stage puts out, best first; in words and numbers what it did, if not plain."""

    hits: list[Hit]
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


class Stage(ABC):
    """One step after fusion. Stateless between queries but for caches."""

    def index(self, corpus: Corpus, top: float) -> None:
        """Learn what the stage needs of `corpus`, in place of any before.

        `top` is the highest score that fusion can give, boosts apart.
        """

    @abstractmethod
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return what becomes of `hits`, which are best first. Safe to call from threads."""

    def without_query_cache(self) -> "Stage":
        """The same stage with every per-query cache off."""
        return self

    def facts(self) -> Mapping[str, Any]:
        """What identifies this stage beyond its settings. JSON values."""
        return {}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The key by which a stage compares scores with a number, and the way out besides a scale.

    With `differences` it looks at how near two scores are, which fused ranks do not tell.
    """

    key: str
    way_out: str = ""
    differences: bool = False


class StageSettings(Settings, ABC):
    """Base of every stage's settings, and what else of the project must know of such a stage."""

    type: str = "python"

    # What it offers `assay tune`: values worth trying, by key.
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # Whether the scores it puts out are on a scale (0 to 1): as those it was given, always, never.
    scale: ClassVar[Literal["as given", "always", "never"]] = "as given"

    @property
    def comparison(self) -> Comparison | None:
        """How it compares scores, which must then be on a scale; None where it does not."""
        return None

    @abstractmethod
    def build(self, workshop: Workshop) -> Stage:
        """Return the stage."""


def descend(scored: Iterable[tuple[Hit, float]]) -> list[Hit]:
    """Return the hits with their new scores, each lowered as little as keeps them descending.

    Where the scores given do not descend strictly, the order given stands.
    """
    hits = []
    bound = math.inf
    for hit, score in scored:
        bound = min(score, math.nextafter(bound, -math.inf))
        hits.append(replace(hit, score=bound))
    return hits


def find_disorder(types: Sequence[str]) -> str:
    """Say in words what is wrong with stages of these `types` in this order; empty if nothing.

    Those of other types, which were plugged in, may stand anywhere.
    """
    place = {name: number for number, names in enumerate(ORDER) for name in names}
    for before, after in pairwise(name for name in types if name in place):
        if place[before] > place[after]:
            return f"{after} cannot follow {before}; the order is {describe_order()}"
        if place[before] == place[after]:
            return f"{before} and {after} cannot stand together; the order is {describe_order()}"
    return ""


def describe_order() -> str:
    """Return the order of stages in words."""
    return " → ".join(" or ".join(names) for names in ORDER)
