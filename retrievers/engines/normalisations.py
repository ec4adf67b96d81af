"""Sums of scores scaled in ways that engines use, told apart by name."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from retrievers.engines.formulas import Formula
from retrievers.ranking import Scored, ordered

Normalisation = Literal["none", "min-max", "z-score", "dbsf", "l2"]
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)


@dataclass(frozen=True, slots=True)
class SummedScores(Formula):
    """Weighted sum of scores, each list scaled by itself; a text that a list lacks adds nothing."""

    normalisation: Normalisation
    weights: tuple[float, float] = (1.0, 1.0)

    @property
    def statement(self) -> str:
        """The formula in one line."""
        dense, keyword = self.weights
        scaled = "scores as they are" if self.normalisation == "none" else self.normalisation
        return f"sum of scores, {scaled}, weights dense {dense:g}, keyword {keyword:g}"

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        scores: dict[int, float] = defaultdict(float)
        for candidates, weight in zip((dense, keyword), self.weights, strict=True):
            values = np.array([score for _, score in candidates])
            scaled = _SCALES[self.normalisation](values) if len(values) else values
            for (position, _), score in zip(candidates, scaled, strict=True):
                scores[position] += weight * float(score)
        return ordered(scores.items())


Values = NDArray[np.float64]


def _scale_min_max(values: Values) -> Values:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.ones_like(values)


def _scale_z_score(values: Values) -> Values:
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > 0 else np.ones_like(values)


def _scale_deviations(values: Values) -> Values:
    span = 6 * float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return (values - values.mean()) / span + 0.5 if span > 0 else np.full_like(values, 0.5)


def _scale_l2(values: Values) -> Values:
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values


_SCALES: dict[Normalisation, Callable[[Values], Values]] = {
    "none": lambda values: values,
    "min-max": _scale_min_max,
    "z-score": _scale_z_score,
    "dbsf": _scale_deviations,
    "l2": _scale_l2,
}
