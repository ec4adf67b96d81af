"""The fusions that engines state in their documents, computed here from the two lists."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from retrievers.fusion import normalise_min_max
from retrievers.ranking import Scored, ordered


class Formula(ABC):
    """How an engine says it fuses a dense and a keyword list."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The formula in one line, with its numbers."""

    @abstractmethod
    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused (position, score) pairs, best first, equal scores by position."""


@dataclass(frozen=True, slots=True)
class ReciprocalRanks(Formula):
    """Reciprocal rank fusion, ranks from `first`.

    A weight multiplies what a list adds, or divides its ranks counted from 1; a list of weight 0
    adds nothing, and what only it holds is left out. `single` computes in 32 bits.
    """

    k: float
    first: Literal[0, 1] = 1
    weights: tuple[float, float] = (1.0, 1.0)
    weigh: Literal["scores", "ranks"] = "scores"
    single: bool = False

    @property
    def statement(self) -> str:
        """The formula in one line."""
        origin = f"ranks from {self.first}"
        if self.weights == (1.0, 1.0):
            return f"sum over both lists of 1 / ({self.k:g} + rank), {origin}"
        dense, keyword = self.weights
        where = f"weights dense {dense:g}, keyword {keyword:g}"
        if self.weigh == "scores":
            return f"sum over both lists of weight / ({self.k:g} + rank), {origin}, {where}"
        return (
            f"sum over both lists of 1 / (rank / weight + {self.k + self.first - 1:g}), "
            f"ranks from 1, {where}"
        )

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        number = np.float32 if self.single else np.float64
        scores: dict[int, np.floating] = defaultdict(lambda: number(0))
        for candidates, given in zip((dense, keyword), self.weights, strict=True):
            if not given:
                continue
            weight, one = number(given), number(1)
            for rank, (position, _) in enumerate(candidates, start=1):
                if self.weigh == "ranks":
                    scores[position] += one / (
                        number(rank) / weight + number(self.k) + number(self.first - 1)
                    )
                else:
                    scores[position] += weight / (number(self.k) + number(rank + self.first - 1))
        return ordered((position, float(score)) for position, score in scores.items())


@dataclass(frozen=True, slots=True)
class ScaledScores(Formula):
    """Weighted sum of scores, each list scaled so that its worst is 0 and its best is 1.

    A text that a list lacks adds nothing there; equal scores all become 1.
    """

    weights: tuple[float, float] = (0.5, 0.5)

    @property
    def statement(self) -> str:
        """The formula in one line."""
        dense, keyword = self.weights
        return (
            "sum over both lists of weight × (score - lowest) / (highest - lowest), weights dense "
            f"{dense:g}, keyword {keyword:g}"
        )

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        scores: dict[int, float] = defaultdict(float)
        for candidates, weight in zip((dense, keyword), self.weights, strict=True):
            scaled = normalise_min_max([score for _, score in candidates])
            for (position, _), score in zip(candidates, scaled, strict=True):
                scores[position] += weight * score
        return ordered(scores.items())


@dataclass(frozen=True, slots=True)
class DeviationScores(Formula):
    """Distribution-based score fusion: sum of scores, each list scaled to its mean plus and minus
    three standard deviations.

    The deviation is that of a sample. Source: Mazzeschi, "Distribution-Based Score Fusion", 2023.
    """

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return "sum over both lists of (score - mean + 3 deviations) / (6 deviations)"

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list; a list of one, or of equal scores, adds 0.5 a text."""
        scores: dict[int, float] = defaultdict(float)
        for candidates in (dense, keyword):
            values = np.array([score for _, score in candidates])
            span = 6 * float(values.std(ddof=1)) if len(values) > 1 else 0.0
            for position, score in candidates:
                scaled = (score - float(values.mean())) / span + 0.5 if span > 0 else 0.5
                scores[position] += scaled
        return ordered(scores.items())
