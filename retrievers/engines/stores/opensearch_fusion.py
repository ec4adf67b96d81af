"""OpenSearch's fusion: the processors of its search pipelines, and their formulas.

The formulas are those of its documentation of version 3: score-ranker-processor and
normalization-processor.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks
from assay.retrievers.fusion.normalisation import measure_spread, normalise_l2, normalise_min_max
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.settings import Settings

Scaling = Literal["min_max", "l2", "z_score"]
Mean = Literal["arithmetic_mean", "geometric_mean", "harmonic_mean"]

# Its documents name the first versions of score-ranker-processor, of its constant and weights, and
# of normalization-processor with `pagination_depth`, without which depth would follow the limit.
RRF = Feature("rrf", (2, 19))
NORMALISATION = Feature("pagination_depth", (2, 19))
Z_SCORE = Feature("z_score", (3, 0))
RRF_CONSTANT = Feature("a rank_constant other than 60", (3, 1))
RRF_WEIGHTS = Feature("rrf with weights", (3, 1))
FEATURES = (RRF, NORMALISATION, Z_SCORE, RRF_CONSTANT, RRF_WEIGHTS)
LEAST = 0.001
EQUAL = LegWeights(dense=0.5, keyword=0.5)


class _Fusion(Settings, ABC):
    """The part that both ways to fuse share: weights whose sum is 1."""

    weights: LegWeights = Field(
        EQUAL, description="weights of the lists, whose sum is 1; equal ones are not sent"
    )

    @model_validator(mode="after")
    def _add_up(self) -> "_Fusion":
        if abs(self.weights.dense + self.weights.keyword - 1) > 1e-6:
            raise ValueError("weights: their sum must be 1, such as dense: 0.7, keyword: 0.3")
        return self

    @abstractmethod
    def make_formula(self) -> Formula:
        """Return the formula that OpenSearch's documents state."""

    @abstractmethod
    def make_processor(self) -> dict[str, Any]:
        """Return the processor for a search pipeline."""

    @property
    @abstractmethod
    def feature(self) -> Feature:
        """The server's feature that this fusion needs."""

    def _list_weights(self) -> dict[str, Any]:
        """Return the processor's parameters: the dense list is the first of the two."""
        if self.weights == EQUAL:
            return {}
        return {"parameters": {"weights": [self.weights.dense, self.weights.keyword]}}


class RankFusion(_Fusion):
    """Reciprocal rank fusion, ranks from 1: the score-ranker-processor."""

    type: Literal["rrf"] = "rrf"
    rank_constant: int = Field(
        60, ge=1, le=10_000, description="a list adds weight / (rank_constant + rank), ranks from 1"
    )

    def make_formula(self) -> Formula:
        """Return the formula: without weights each list has the weight 1."""
        pair = (self.weights.dense, self.weights.keyword)
        weights = (1.0, 1.0) if self.weights == EQUAL else pair
        return ReciprocalRanks(k=self.rank_constant, weights=weights, single=True)

    def make_processor(self) -> dict[str, Any]:
        """Return the processor."""
        combination = {"technique": "rrf", "rank_constant": self.rank_constant}
        return {"score-ranker-processor": {"combination": combination | self._list_weights()}}

    @property
    def feature(self) -> Feature:
        """2.19 ignores the rank constant and has no weights."""
        if self.weights != EQUAL:
            return RRF_WEIGHTS
        return RRF if self.rank_constant == 60 else RRF_CONSTANT


class ScoreFusion(_Fusion):
    """A mean of normalised scores: the normalization-processor."""

    type: Literal["normalisation"]
    normalisation: Scaling = Field(
        "min_max",
        description=(
            "min_max: to 0.001 … 1 between the list's extremes; l2: divided by the root of the "
            "sum of squares; z_score: deviations above the mean, what is below it becomes 0.001"
        ),
    )
    combination: Mean = Field(
        "arithmetic_mean",
        description=(
            "weighted mean of both scores; a text that one list lacks has 0 there for the "
            "arithmetic mean, and the other list's score alone for the two others"
        ),
    )

    @model_validator(mode="after")
    def _can_combine(self) -> "ScoreFusion":
        if self.normalisation == "z_score" and self.combination != "arithmetic_mean":
            raise ValueError("combination: OpenSearch combines z_score by arithmetic_mean only")
        return self

    def make_formula(self) -> Formula:
        """Return the formula."""
        pair = (self.weights.dense, self.weights.keyword)
        return NormalisedScores(self.normalisation, self.combination, pair)

    def make_processor(self) -> dict[str, Any]:
        """Return the processor."""
        combination = {"technique": self.combination} | self._list_weights()
        scaling = {"technique": self.normalisation}
        return {"normalization-processor": {"normalization": scaling, "combination": combination}}

    @property
    def feature(self) -> Feature:
        """All but one normalisation are there since depth can be set."""
        return Z_SCORE if self.normalisation == "z_score" else NORMALISATION


FusionSettings = Annotated[RankFusion | ScoreFusion, Field(discriminator="type")]


@dataclass(frozen=True, slots=True)
class NormalisedScores(Formula):
    """A weighted mean of scores, each list normalised by what is in it.

    The dense list comes with cosines; OpenSearch fuses (1 + cosine) / 2.
    """

    scaling: Scaling
    mean: Mean
    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        scaled = {
            "min_max": "(score - lowest) / (highest - lowest), 0.001 instead of 0",
            "l2": "score / root of the sum of squares",
            "z_score": "(score - mean) / sample deviation, 0.001 for all at or below 0",
        }[self.scaling]
        lacks = "0 for" if self.mean == "arithmetic_mean" else "without"
        dense, keyword = self.weights
        return (
            f"{self.mean.replace('_', ' ')} of {scaled}, weights dense {dense:g}, keyword "
            f"{keyword:g}, {lacks} a list that lacks the text; dense scores are (1 + cosine) / 2"
        )

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        raw = [(i, (1 + cosine) / 2) for i, cosine in dense]
        lists = [self._normalise(candidates) for candidates in (raw, keyword)]
        fused = {
            i: self._combine([scores.get(i, 0.0) for scores in lists]) for i in lists[0] | lists[1]
        }
        return ordered((i, score) for i, score in fused.items() if score > 0)

    def _normalise(self, candidates: Sequence[Scored]) -> dict[int, float]:
        if not candidates:
            return {}
        scaled = _SCALINGS[self.scaling]([float(np.float32(score)) for _, score in candidates])
        return {i: score for (i, _), score in zip(candidates, scaled, strict=True)}

    def _combine(self, scores: Sequence[float]) -> float:
        pairs = list(zip(scores, self.weights, strict=True))
        if self.mean == "arithmetic_mean":
            return sum(score * weight for score, weight in pairs) / sum(self.weights)
        held = [(score, weight) for score, weight in pairs if score > 0 and weight > 0]
        total = sum(weight for _, weight in held)
        if not held:
            return 0.0
        if self.mean == "geometric_mean":
            return float(np.exp(sum(weight * np.log(score) for score, weight in held) / total))
        return total / sum(weight / score for score, weight in held)


def _scale_min_max(scores: Sequence[float]) -> list[float]:
    """Scale to the range of the list; its lowest becomes 0.001, as 0 means no match."""
    return [score or LEAST for score in normalise_min_max(scores)]


def _scale_z(scores: Sequence[float]) -> list[float]:
    """Return deviations; a score equal to the mean becomes the list's highest, unscaled."""
    exact, deviation = measure_spread(scores, sample=True)
    mean, lowest, highest = float(np.float32(exact)), min(scores), max(scores)

    def scale(score: float) -> float:
        if score == mean:
            return highest
        return max((score - mean) / deviation, LEAST) if deviation else lowest

    return [scale(score) for score in scores]


_SCALINGS = {"min_max": _scale_min_max, "l2": normalise_l2, "z_score": _scale_z}
