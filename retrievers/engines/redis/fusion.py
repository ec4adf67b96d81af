"""How FT.HYBRID adds scores, as its source has it (src/hybrid, src/vector_normalization.h)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.engines.formulas import Formula
from assay.retrievers.fusion.ranking import Scored, ordered


@dataclass(frozen=True, slots=True)
class WeightedScores(Formula):
    """Weighted sum of (1 + cosine) / 2 and the keyword score as it is.

    A text that a list lacks adds nothing there.
    """

    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        dense, keyword = self.weights
        return f"{dense:g} × (1 + cosine) / 2 + {keyword:g} × keyword score"

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        scores: dict[int, float] = defaultdict(float)
        for position, score in dense:
            scores[position] += self.weights[0] * (1 + score) / 2
        for position, score in keyword:
            scores[position] += self.weights[1] * score
        return ordered(scores.items())
