"""The contract of stages: hits in, hits out."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources, Settings

# Whether the scores a stage puts out are on a scale from 0 to 1: as those it was given; calibrated
# fused ones; its own, which tell how well a query is answered; no more.
Scale = Literal["as given", "calibrated", "own", "never"]

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
    ("threshold",),
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


# Returns, for each of several positions, those right before and after it in its document; None if
# no store keeps these links.
Beside = Callable[[Sequence[int]], list[list[int]] | None]


class Stage(ABC):
    """One step after fusion. Stateless between queries but for caches."""

    def index(self, corpus: Corpus, top: float) -> None:
        """Learn what the stage needs of `corpus`, in place of any before.

        `top` is the highest score that fusion can give, boosts apart.
        """

    def link(self, beside: Beside) -> None:
        """Take the function that asks the legs' stores for chunks' neighbours; after `index`."""

    @abstractmethod
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the stage's result for `hits`, best first. Safe to call from threads.

        A pinned hit may be dropped, but those that stay keep their order, before all others.
        """

    def follow(self, query: str, expansion: Sequence[str], hits: Sequence[Hit]) -> StageResult:
        """Apply the stage as `apply` does, with the words an `expand` step added to `query`."""
        return self.apply(query, hits)

    def restrict(self, documents: Set[str]) -> "Stage":
        """Return the same stage, knowing these documents only.

        It gets no hits of other documents. A stage that uses one document for the hits of another
        overrides this method. A plug-in that does not is made again for these documents.
        """
        return self

    def without_query_cache(self) -> "Stage":
        """Return the same stage with every per-query cache off."""
        return self

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts that identify this stage beyond its settings, as JSON."""
        return {}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The key whose number a stage compares scores with.

    - `way_out`: a remedy other than a scale, in words.
    - `beyond_ranks`: in words, information it needs that fused ranks lack, if any.
    - `leg`: the leg whose scores it compares, if not the fused ones.
    """

    key: str
    way_out: str = ""
    beyond_ranks: str = ""
    leg: str = ""


class StageSettings(Settings, ABC):
    """Base of every stage's settings, and what else of the project must know of such a stage."""

    type: str = "python"

    # The values worth trying in `assay tune`, by key.
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {}

    @property
    def scale(self) -> Scale:
        """The effect on the scale of scores; set once per class if that is enough."""
        return "as given"

    @property
    def comparison(self) -> Comparison | None:
        """The stage's comparison of scores, which must be on a scale; None if it compares none."""
        return None

    @abstractmethod
    def build(self, resources: Resources) -> Stage:
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


def part_pinned(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the pinned hits and the others, each in their order.

    Whatever a stage does with hits, the pinned ones stay first and in this order: a chunk that was
    asked for by name does not depend on age, likeness or a model's score.
    """
    pinned = [hit for hit in hits if hit.pinned]
    return pinned, [hit for hit in hits if not hit.pinned]


def find_disorder(types: Sequence[str]) -> str:
    """Say in words what is wrong with stages of these `types` in this order; empty if nothing.

    Stages of other types, which were plugged in, may be anywhere.
    """
    places: dict[str, list[int]] = {}
    for number, names in enumerate(ORDER):
        for name in names:
            places.setdefault(name, []).append(number)
    i = -1
    for before, after in pairwise(["", *(name for name in types if name in places)]):
        if i in places[after] and i == places[after][-1]:
            return f"{before} and {after} cannot stand together; the order is {describe_order()}"
        later = [place for place in places[after] if place > i]
        if not later:
            return f"{after} cannot follow {before}; the order is {describe_order()}"
        i = later[0]
    return ""


def describe_order() -> str:
    """Return the order of stages in words."""
    return " → ".join(" or ".join(names) for names in ORDER)
