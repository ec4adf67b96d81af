"""The fusions that engines state in their documents, computed here from the two lists."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.retrievers.fusion.normalisation import normalise_deviations, normalise_min_max
from assay.retrievers.fusion.ranking import Scored, ordered

Scale = Callable[[Sequence[float]], Sequence[float]]


def state_weights(weights: tuple[float, float]) -> str:
    """Return in words how much each list weighs."""
    dense, keyword = weights
    return f"weights dense {dense:g}, keyword {keyword:g}"


class Formula(ABC):
    """The stated fusion of an engine's dense and keyword lists."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The formula in one line, with its numbers."""

    @property
    def counts(self) -> tuple[bool, bool]:
        """For the dense and the keyword list, True if it adds to scores: not with weight 0."""
        dense, keyword = getattr(self, "weights", (1.0, 1.0))
        return bool(dense), bool(keyword)

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused (position, score) pairs, best first, equal scores by position.

        Texts that only a list of weight 0 holds are left out, whatever an engine does with them.
        """
        counts = self.counts
        return self._fuse(dense if counts[0] else (), keyword if counts[1] else ())

    @abstractmethod
    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused pairs of lists that both count, or are empty."""

    @property
    def most(self) -> int | None:
        """The most fused texts that an engine returns; None if it returns all."""
        return None

    def fuse_whole(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return all fused texts, also those beyond `most`."""
        return self.fuse(dense, keyword)


@dataclass(frozen=True, slots=True)
class ReciprocalRanks(Formula):
    """Reciprocal rank fusion, ranks from `first`.

    A weight multiplies what a list adds, or divides its ranks counted from 1. With `shared` equal
    scores have the rank of the first of them. `single` computes in 32 bits, `rounded` only rounds
    the sums to them.
    """

    k: float
    first: Literal[0, 1] = 1
    weights: tuple[float, float] = (1.0, 1.0)
    weigh: Literal["scores", "ranks"] = "scores"
    shared: bool = False
    single: bool = False
    rounded: bool = False

    @property
    def statement(self) -> str:
        """The formula in one line."""
        origin = f"ranks from {self.first}"
        if self.shared:
            origin += ", equal scores share the first's"
        if self.weights == (1.0, 1.0):
            return f"sum over both lists of 1 / ({self.k:g} + rank), {origin}"
        where = state_weights(self.weights)
        if self.weigh == "scores":
            return f"sum over both lists of weight / ({self.k:g} + rank), {origin}, {where}"
        return (
            f"sum over both lists of 1 / (rank / weight + {self.k + self.first - 1:g}), "
            f"ranks from 1, {where}"
        )

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        number = np.float32 if self.single else np.float64
        scores: dict[int, np.floating] = defaultdict(lambda: number(0))
        for candidates, given in zip((dense, keyword), self.weights, strict=True):
            weight, one = number(given), number(1)
            rank, before = 0, None
            for place, (position, score) in enumerate(candidates, start=1):
                rank = rank if self.shared and score == before else place
                before = score
                if self.weigh == "ranks":
                    scores[position] += one / (
                        number(rank) / weight + number(self.k) + number(self.first - 1)
                    )
                else:
                    scores[position] += weight / (number(self.k) + number(rank + self.first - 1))
        result = np.float32 if self.rounded else number
        return ordered((position, float(result(score))) for position, score in scores.items())


@dataclass(frozen=True, slots=True)
class SummedScores(Formula):
    """Weighted sum of scores, each list scaled by itself; a text that a list lacks adds nothing.

    - `says`: the statement, with `{dense}`, `{keyword}` or both as `{weights}` in it.
    - `scale`: scales the scores of a list.
    - `halved`: True if a cosine counts as (1 + cosine) / 2 before that.
    - `scale_keyword`: scales those of the keyword list if it is another way.
    - `rounded`: True if sums are rounded to 32 bits.
    - `of`: what sums are divided by.
    """

    says: str
    weights: tuple[float, float]
    scale: Scale = list
    halved: bool = False
    scale_keyword: Scale | None = None
    rounded: bool = False
    of: int = 1

    @property
    def statement(self) -> str:
        """The formula in one line."""
        dense, keyword = (f"{weight:g}" for weight in self.weights)
        weights = state_weights(self.weights)
        return self.says.format(dense=dense, keyword=keyword, weights=weights)

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        near = [(i, (1 + cosine) / 2) for i, cosine in dense] if self.halved else dense
        scales = (self.scale, self.scale_keyword or self.scale)
        scores: dict[int, float] = defaultdict(float)
        for candidates, weight, scale in zip((near, keyword), self.weights, scales, strict=True):
            scaled = scale([score for _, score in candidates])
            for (position, _), score in zip(candidates, scaled, strict=True):
                scores[position] += weight * score / self.of
        number = np.float32 if self.rounded else float
        return ordered((position, float(number(score))) for position, score in scores.items())


def sum_scaled(weights: tuple[float, float] = (0.5, 0.5)) -> SummedScores:
    """Return the sum with each list's worst as 0 and best as 1; equal scores all become 1."""
    says = "sum over both lists of weight × (score - lowest) / (highest - lowest), {weights}"
    return SummedScores(says, weights, normalise_min_max)


def sum_deviations() -> SummedScores:
    """Return distribution-based score fusion: scores scaled to three deviations about the mean.

    The deviation is that of a sample. Source: Mazzeschi, "Distribution-Based Score Fusion", 2023.
    """
    says = "sum over both lists of (score - mean + 3 deviations) / (6 deviations)"
    return SummedScores(says, (1.0, 1.0), normalise_deviations)


@dataclass(frozen=True, slots=True)
class Head(Formula):
    """The formula of an engine that returns only the `best` of the texts that it fused."""

    whole: Formula
    best: int

    @property
    def counts(self) -> tuple[bool, bool]:
        """The same as for the whole formula."""
        return self.whole.counts

    @property
    def most(self) -> int:
        """The number of texts returned: `best`."""
        return self.best

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return f"{self.whole.statement}; of all that is fused the best {self.best}"

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        return self.whole.fuse(dense, keyword)[: self.best]

    def fuse_whole(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return all that is fused."""
        return self.whole.fuse(dense, keyword)


@dataclass(frozen=True, slots=True)
class DistanceAndScore(Formula):
    """Weighted sum of closeness and keyword score, each list scaled to between 0 and 1.

    `weight` is that of closeness, which is 1 less the distance; the keyword score's is what it
    lacks to 1. A text that a list lacks has 1 - `fill` there. Equal distances all become 0, as do
    equal keyword scores. Where one list is empty, the other's scaled scores are left unweighted.
    All scaling is in 32 bits.
    """

    weight: float = 0.7
    fill: float = 1.0

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of both lists."""
        return self.weight, 1 - self.weight

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return (
            f"{self.weight:g} × (1 - scaled distance) + {1 - self.weight:g} × scaled keyword "
            f"score, scaled: (x - lowest) / (highest - lowest), {1 - self.fill:g} where missing"
        )

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        near = {i: 1 - far for i, far in _scale([(i, 1 - score) for i, score in dense]).items()}
        shared = _scale(keyword)
        if near and shared:
            missing = 1 - self.fill
            scores = {
                i: self.weight * near.get(i, missing) + (1 - self.weight) * shared.get(i, missing)
                for i in {**near, **shared}
            }
        else:
            scores = near or shared
        return ordered((position, float(np.float32(score))) for position, score in scores.items())


def _scale(scored: Sequence[Scored]) -> dict[int, float]:
    """Scale scores to between 0 and 1 in 32 bits; equal ones become 0."""
    scores = np.array([score for _, score in scored], np.float32)
    if len(scores):
        scores -= scores.min()
        scores /= scores.max() or np.float32(1)
    return {position: float(score) for (position, _), score in zip(scored, scores, strict=True)}


@dataclass(frozen=True, slots=True)
class OneList(Formula):
    """The dense list of an engine, with nothing fused; `says` describes its scores."""

    says: str

    @property
    def statement(self) -> str:
        """The description of the scores."""
        return self.says

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        return ordered(dense)


COSINE = OneList("the cosine of the vectors of query and text")
