"""Fusion: several ranked lists become one."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.normalisation import normalise_min_max, normalise_z_score
from retrievers.ranking import Scored, ordered
from retrievers.settings import Settings

Legs = Mapping[str, Sequence[Scored]]


class Fusion(Settings, ABC):
    """Merges ranked lists; `weights` and `boosts` are by the names of legs."""

    # What it offers `assay tune`: values worth trying, by key.
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {}
    weights: dict[str, float] = Field(
        default_factory=dict, description="weight of each leg by its name; 1 where not given"
    )
    boosts: dict[str, float] = Field(
        default_factory=dict,
        description=(
            "by a leg's name, what is added to the score of each chunk it found, divided by its "
            "rank there; 10 for exact matches puts them first, in that leg's order"
        ),
    )

    def fuse(self, legs: Legs, factors: Mapping[str, float] | None = None) -> list[Scored]:
        """Return the fused (position, score) pairs, best first.

        `factors` multiply the weights of the legs they name.
        """
        factors = factors or {}
        weights = {name: self.weights.get(name, 1.0) * factors.get(name, 1.0) for name in legs}
        scores = self._add_up(legs, weights)
        for name, boost in self.boosts.items():
            for rank, (position, _) in enumerate(legs.get(name, ()), start=1):
                scores[position] += boost / rank
        return ordered(scores.items())

    @abstractmethod
    def top(self, legs: Iterable[str]) -> float:
        """Return the highest score that a chunk can have, boosts apart."""

    @abstractmethod
    def _add_up(self, legs: Legs, weights: Mapping[str, float]) -> dict[int, float]:
        """Return the score of each position that a leg found."""


class RrfSettings(Fusion):
    """Reciprocal rank fusion: the sum over legs of weight / (k + rank), ranks from 1.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods", SIGIR 2009; the weights are an extension.
    """

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"k": (1, 2, 5, 10, 20, 40, 60, 100)}
    type: Literal["rrf"] = "rrf"
    k: int = Field(60, ge=0, description="damping constant; a larger k flattens the ranks")

    def top(self, legs: Iterable[str]) -> float:
        """Return the score of a chunk that is first in every leg."""
        return sum(self.weights.get(name, 1.0) for name in legs) / (self.k + 1)

    def _add_up(self, legs: Legs, weights: Mapping[str, float]) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for name, candidates in legs.items():
            for rank, (position, _) in enumerate(candidates, start=1):
                scores[position] += weights[name] / (self.k + rank)
        return scores


class LinearSettings(Fusion):
    """Weighted sum of normalised leg scores; a chunk that a leg lacks adds nothing there."""

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"normalisation": ("min-max", "z-score")}
    type: Literal["linear"]
    normalisation: Literal["min-max", "z-score"] = Field(
        "min-max",
        description=(
            "per query and leg, over the candidates the leg returned: min-max maps worst to 0 "
            "and best to 1; z-score subtracts the mean and divides by the standard deviation, "
            "shifted so that the worst candidate is 0"
        ),
    )

    def top(self, legs: Iterable[str]) -> float:
        """Return the sum of the weights; of z-scores, which have no bound, six times that.

        The best of a hundred candidates is about six deviations above the worst.
        """
        total = sum(self.weights.get(name, 1.0) for name in legs)
        return total if self.normalisation == "min-max" else 6 * total

    def _add_up(self, legs: Legs, weights: Mapping[str, float]) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for name, candidates in legs.items():
            raw = [score for _, score in candidates]
            min_max = self.normalisation == "min-max"
            scaled = normalise_min_max(raw) if min_max else normalise_z_score(raw, above="lowest")
            for (position, _), score in zip(candidates, scaled, strict=True):
                scores[position] += weights[name] * score
        return scores


FusionSettings = RrfSettings | LinearSettings
