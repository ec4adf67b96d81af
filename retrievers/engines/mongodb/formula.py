"""How MongoDB fuses, by its manual (reference/operator/aggregation) and its source."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from assay.retrievers.engines.formulas import Formula, state_weights
from assay.retrievers.fusion.ranking import Scored, ordered

Normalisation = Literal["none", "sigmoid", "minMaxScaler"]


@dataclass(frozen=True, slots=True)
class SharedRanks(Formula):
    """Reciprocal rank fusion of $rankFusion: texts of equal score share the rank of the first.

    Source: document_source_rank_fusion.cpp, which ranks by the window operator $rank.
    """

    k: int
    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return (
            f"sum over both lists of weight / ({self.k} + rank), ranks from 1, equal scores share "
            f"the first's, {state_weights(self.weights)}"
        )

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        scores: dict[int, float] = defaultdict(float)
        for found, weight in zip((dense, keyword), self.weights, strict=True):
            rank, before = 0, None
            for i, (position, score) in enumerate(found, start=1):
                rank = rank if score == before else i
                before = score
                scores[position] += weight / (self.k + rank)
        return ordered(scores.items())


@dataclass(frozen=True, slots=True)
class AveragedScores(Formula):
    """Mean of both weighted scores, 0 where a list lacks a text; a cosine counts as
    (1 + cosine) / 2.

    Source: document_source_score_fusion.cpp; minMaxScaler brings equal scores to 0.
    """

    normalisation: Normalisation
    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        scaled = _STATED[self.normalisation]
        weights = state_weights(self.weights)
        return f"mean of both lists' scores, {scaled}, a cosine as (1 + cosine) / 2, {weights}"

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        scores: dict[int, float] = defaultdict(float)
        near = [(position, (1 + score) / 2) for position, score in dense]
        for found, weight in zip((near, keyword), self.weights, strict=True):
            scaled = _SCALES[self.normalisation]([score for _, score in found])
            for (position, _), score in zip(found, scaled, strict=True):
                scores[position] += weight * score / 2
        return ordered(scores.items())


def _scale(scores: Sequence[float]) -> Sequence[float]:
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - lowest) / (highest - lowest or 1.0) for score in scores]


_SCALES: dict[Normalisation, Callable[[Sequence[float]], Sequence[float]]] = {
    "none": lambda scores: scores,
    "sigmoid": lambda scores: [1 / (1 + exp(-score)) for score in scores],
    "minMaxScaler": _scale,
}
_STATED: dict[Normalisation, str] = {
    "none": "as they are",
    "sigmoid": "each as 1 / (1 + e^-score)",
    "minMaxScaler": "each as (score - lowest) / (highest - lowest)",
}
