"""Fusion of several ranked lists into one."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.fusion.normalisation import (
    measure_confidence,
    normalise_between,
    normalise_deviations,
    normalise_min_max,
    normalise_z_score,
)
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.settings import Settings

Legs = Mapping[str, Sequence[Scored]]


class Fusion(Settings, ABC):
    """A method that merges ranked lists; `weights` and `boosts` are by the names of legs."""

    # Values for `assay tune` to try, by key.
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {}
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict,
        description="weight of each leg by its name; 1 where not given; 0 takes the leg out",
    )
    boosts: dict[str, float] = Field(
        default_factory=dict,
        description=(
            "by a leg's name, what is added to the score of each chunk it found, divided by its "
            "rank there; nothing where the leg cannot tell which of several is meant; 10 for exact "
            "matches puts them first, in that leg's order, and no reranker moves what a boost "
            "alone puts before all that the other legs can find"
        ),
    )

    def fuse(
        self,
        legs: Legs,
        factors: Mapping[str, float] | None = None,
        unboosted: Mapping[str, Collection[int]] | None = None,
    ) -> list[Scored]:
        """Return the fused (position, score) pairs, best first.

        `factors` multiply the weights of the legs they name; `unboosted` has, by leg, the positions
        that its boost leaves as they are. Chunks that only legs of weight 0 found are left out.
        """
        factors = factors or {}
        weights = {name: self.weights.get(name, 1.0) * factors.get(name, 1.0) for name in legs}
        counted = {name: found for name, found in legs.items() if weights[name]}
        scores = self._add_up(counted, weights)
        for name, boost in self.boosts.items():
            without = (unboosted or {}).get(name, ())
            for rank, (position, _) in enumerate(legs.get(name, ()) if boost else (), start=1):
                if position not in without:
                    scores[position] += boost / rank
        return ordered(scores.items())

    def counts(self, leg: str) -> bool:
        """Return True if a leg can add to any score, by its weight or its boost."""
        return bool(self.weights.get(leg, 1.0) or self.boosts.get(leg))

    def lifts(self, ranks: Mapping[str, int], top: float) -> bool:
        """Return True if one boost alone puts a chunk of these `ranks`, by leg, above a score."""
        return any(
            boost / ranks[name] > top for name, boost in self.boosts.items() if name in ranks
        )

    @property
    def by_scores(self) -> bool:
        """True if it relies on the meaning of a leg's scores, beyond their order and distances."""
        return False

    @abstractmethod
    def top(self, legs: Iterable[str]) -> float:
        """Return the highest score that a chunk can have without boosts."""

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
    """Weighted sum of normalised leg scores; a chunk that a leg lacks adds nothing there.

    With min-max and z-score nothing is what the leg's worst candidate adds, so that to be missing
    is to be last. Source of theoretical: Bruch, Gai and Ingber, "An Analysis of Fusion Functions
    for Hybrid Retrieval", TOIS 2023; of dbsf: Mazzeschi, "Distribution-Based Score Fusion", 2023.
    """

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"normalisation": ("min-max", "z-score")}
    type: Literal["linear"]
    normalisation: Literal["min-max", "z-score", "dbsf", "theoretical"] = Field(
        "min-max",
        description=(
            "per query and leg, over the candidates the leg returned: min-max maps worst to 0 "
            "and best to 1; z-score subtracts the mean and divides by the standard deviation, "
            "shifted so that the worst candidate is 0; dbsf maps three sample deviations below "
            "and above the mean to 0 and 1; theoretical maps the leg's floor to 0 and best to 1"
        ),
    )
    floors: dict[str, float] = Field(
        default_factory=dict,
        description=(
            "theoretical: by a leg's name, the lowest score that it can give: -1 for cosines; "
            "0, the floor of BM25, where not given"
        ),
    )
    confidence: bool = Field(
        False,
        description=(
            "weigh the legs anew for each query by how far the best of each stands out: its "
            "score less the mean of the first 20, in standard deviations of the leg's list"
        ),
    )

    @model_validator(mode="after")
    def _has_use_of_floors(self) -> "LinearSettings":
        if self.floors and self.normalisation != "theoretical":
            raise ValueError(
                f"floors: {self.normalisation} has none; allowed with normalisation: theoretical"
            )
        return self

    @property
    def by_scores(self) -> bool:
        """True if it uses the floors of scores, or their distances as the confidence of a leg."""
        return self.normalisation == "theoretical" or self.confidence

    def top(self, legs: Iterable[str]) -> float:
        """Return the sum of the weights; for z-scores, which have no bound, six times that.

        The best of a hundred candidates is about six deviations above the worst.
        """
        total = sum(self.weights.get(name, 1.0) for name in legs)
        return 6 * total if self.normalisation == "z-score" else total

    def _add_up(self, legs: Legs, weights: Mapping[str, float]) -> dict[int, float]:
        raw = {name: [score for _, score in found] for name, found in legs.items() if found}
        if self.confidence:
            weights = _weigh_by_confidence(raw, weights)
        scores: dict[int, float] = defaultdict(float)
        for name, values in raw.items():
            if not weights[name]:
                continue
            scaled = self._scale(name, values)
            for (position, _), score in zip(legs[name], scaled, strict=True):
                scores[position] += weights[name] * score
        return scores

    def _scale(self, name: str, scores: Sequence[float]) -> list[float]:
        match self.normalisation:
            case "min-max":
                return normalise_min_max(scores)
            case "z-score":
                return normalise_z_score(scores, above="lowest")
            case "dbsf":
                return normalise_deviations(scores)
            case "theoretical":
                return normalise_between(scores, self.floors.get(name, 0.0))


def _weigh_by_confidence(
    raw: Mapping[str, Sequence[float]], weights: Mapping[str, float]
) -> dict[str, float]:
    """Return the weights, each times its leg's share of the confidence; their sum stays."""
    told = {name: weights[name] * measure_confidence(scores) for name, scores in raw.items()}
    total, sum_of_told = sum(weights[name] for name in raw), sum(told.values())
    if sum_of_told == 0:
        return {name: weights[name] for name in raw}
    return {name: weight * total / sum_of_told for name, weight in told.items()}


FusionSettings = RrfSettings | LinearSettings
