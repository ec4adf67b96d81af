"""Fusion: several ranked lists become one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from retrievers.ranking import Scored, ordered
from retrievers.settings import Settings

Legs = Mapping[str, Sequence[Scored]]


class RrfSettings(Settings):
    """Reciprocal rank fusion: the sum over legs of weight / (k + rank), ranks from 1."""

    type: Literal["rrf"] = "rrf"
    k: int = Field(60, ge=0, description="damping constant; a larger k flattens the ranks")
    weights: dict[str, float] = Field(
        default_factory=dict, description="weight of each leg by its name; 1 where not given"
    )

    def fuse(self, legs: Legs) -> list[Scored]:
        """Return the fused (position, score) pairs, best first.

        Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
        individual Rank Learning Methods", SIGIR 2009; the weights are an extension.
        """
        scores: dict[int, float] = defaultdict(float)
        for name, candidates in legs.items():
            weight = self.weights.get(name, 1.0)
            for rank, (position, _) in enumerate(candidates, start=1):
                scores[position] += weight / (self.k + rank)
        return ordered(scores.items())


class LinearSettings(Settings):
    """Weighted sum of normalised leg scores; a chunk that a leg lacks adds nothing there."""

    type: Literal["linear"]
    normalisation: Literal["min-max", "z-score"] = Field(
        "min-max",
        description=(
            "per query and leg, over the candidates the leg returned: min-max maps worst to 0 "
            "and best to 1; z-score subtracts the mean and divides by the standard deviation, "
            "shifted so that the worst candidate is 0"
        ),
    )
    weights: dict[str, float] = Field(
        default_factory=dict, description="weight of each leg by its name; 1 where not given"
    )

    def fuse(self, legs: Legs) -> list[Scored]:
        """Return the fused (position, score) pairs, best first."""
        scores: dict[int, float] = defaultdict(float)
        for name, candidates in legs.items():
            weight = self.weights.get(name, 1.0)
            normalised = _NORMALISATIONS[self.normalisation]([score for _, score in candidates])
            for (position, _), score in zip(candidates, normalised, strict=True):
                scores[position] += weight * score
        return ordered(scores.items())


FusionSettings = RrfSettings | LinearSettings


def normalise_min_max(scores: Sequence[float]) -> list[float]:
    """Map the lowest score to 0 and the highest to 1; equal scores all become 1."""
    if not scores:
        return []
    low, span = min(scores), max(scores) - min(scores)
    return [(score - low) / span if span > 0 else 1.0 for score in scores]


def normalise_z_score(scores: Sequence[float]) -> list[float]:
    """Return population z-scores, shifted so that the lowest is 0; equal scores all become 1.

    The shift keeps a candidate at the foot of one leg from ranking below a chunk which that
    leg did not return at all.
    """
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    low = min(scores)
    return [(score - low) / deviation if deviation > 0 else 1.0 for score in scores]


_NORMALISATIONS = {"min-max": normalise_min_max, "z-score": normalise_z_score}
