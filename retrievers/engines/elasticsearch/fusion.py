"""How Elasticsearch's retrievers fuse, as its source has it (x-pack/plugin/rank-rrf)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.retrievers.engines.formulas import Formula, state_weights
from assay.retrievers.fusion.ranking import Scored, ordered

EPSILON = np.float32(1e-6)


@dataclass(frozen=True, slots=True)
class LinearScores(Formula):
    """Weighted sum of scores, each list scaled so that its worst is 0 and its best is 1.

    A dense score is (1 + cosine) / 2. The scores of a list that are all equal stay as they are. A
    text that a list lacks adds nothing there. All in 32 bits.
    """

    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return (
            "sum over both lists of weight × (score - lowest) / (highest - lowest), "
            f"{state_weights(self.weights)}; scores that are all equal stay as they are, dense "
            "ones are (1 + cosine) / 2"
        )

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        scores: dict[int, np.float32] = defaultdict(np.float32)
        near = [(position, (1 + cosine) / 2) for position, cosine in dense]
        for listed, weight in zip((near, keyword), self.weights, strict=True):
            scaled = _scale(np.array([score for _, score in listed], np.float32))
            for (position, _), score in zip(listed, scaled, strict=True):
                scores[position] += np.float32(weight) * score
        return ordered((position, float(score)) for position, score in scores.items())


def _scale(scores: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> Sequence[np.float32]:
    if not len(scores):
        return []
    lowest, highest = scores.min(), scores.max()
    if highest - lowest < EPSILON:
        return [lowest] * len(scores)
    return list((scores - lowest) / (highest - lowest))
