"""Maximal marginal relevance: each next hit is relevant and unlike those above it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.normalisation import normalise_min_max
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import (
    Comparison,
    Scale,
    Stage,
    StageResult,
    StageSettings,
    descend,
    part_pinned,
)
from assay.retrievers.stages.drops import Similarity


class MmrSettings(StageSettings):
    """Orders the best hits by relevance less likeness to those above them."""

    scale: ClassVar[Scale] = "never"
    type: Literal["mmr"]
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings,
        description="the embedding model, or its name; a dense leg's own costs nothing more",
    )
    relevance_weight: float = Field(
        0.7, ge=0, le=1, description="λ: 1 leaves the order as it is, 0 looks at likeness alone"
    )
    top_n: int = Field(
        10, ge=1, description="how many are chosen; the others stay below, in their order"
    )
    relevance: Literal["min-max", "score"] = Field(
        "min-max",
        description="what λ weighs: scores mapped to 0 to 1 over each query's hits; or scores as "
        "they are, which must be calibrated or cosines",
    )

    @property
    def comparison(self) -> Comparison | None:
        """Its relevance, where that is the score itself."""
        given = self.relevance == "score"
        return Comparison("mmr.relevance", ", or set it to min-max") if given else None

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Mmr(self, Similarity(self.encoder.build(resources)))


class Mmr(Stage):
    """Chooses, again and again, the hit of greatest λ * relevance - (1 - λ) * likeness.

    Likeness is the greatest cosine to a hit already chosen, 0 before the first and at least 0, so
    that the scores given descend. Source: Carbonell and Goldstein, "The Use of MMR, Diversity-Based
    Reranking for Reordering Documents and Producing Summaries", SIGIR 1998.
    """

    def __init__(self, settings: MmrSettings, similarity: Similarity) -> None:
        self._settings = settings
        self._similarity = similarity

    def index(self, corpus: Corpus, top: float) -> None:
        """Take the chunks' vectors."""
        self._similarity.index(corpus)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` in their new order.

        A chosen hit has its MMR score; the n-th that was not has n less than the lowest of those.
        Pinned hits are chosen before all others, unasked, each with a score 1 above that of the
        next.
        """
        counts = {"in": len(hits), "out": len(hits)}
        if not hits:
            return StageResult([], counts=counts)
        pinned, others = part_pinned(hits)
        relevance = [hit.score for hit in others]
        if self._settings.relevance == "min-max":
            relevance = normalise_min_max(relevance)
        similarity = self._similarity.compare(pinned + others)
        chosen = choose(
            np.array(relevance),
            similarity[len(pinned) :],
            self._settings.relevance_weight,
            max(self._settings.top_n - len(pinned), 0),
        )
        ranked = descend((others[row], score) for row, score in chosen)
        highest, lowest = (ranked[0].score, ranked[-1].score) if ranked else (0.0, 0.0)
        rest = sorted(set(range(len(others))) - {row for row, _ in chosen})
        ranked += [replace(others[row], score=lowest - n) for n, row in enumerate(rest, start=1)]
        first = [
            replace(hit, score=highest + n)
            for hit, n in zip(pinned, range(len(pinned), 0, -1), strict=True)
        ]
        moved = sum(row != place for place, (row, _) in enumerate(chosen))
        among = len(pinned) + len(chosen)
        note = f"{moved} of the first {among} hits are others than before" if moved else ""
        return StageResult(first + ranked, note, counts | {"moved": moved})

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder."""
        return {"encoder": dict(self._similarity.metadata())}


def choose(
    relevance: NDArray[np.floating], similarity: NDArray[np.floating], weight: float, count: int
) -> list[tuple[int, float]]:
    """Return `count` rows with their MMR scores, in the order chosen; the first wins a tie.

    `relevance` has shape (hits,), `similarity` (hits, chosen before + hits): each hit's cosines to
    those that were chosen before, then to all of `hits`.
    """
    before = similarity.shape[1] - len(relevance)
    likeness = similarity[:, :before].max(axis=1, initial=0.0)
    similarity = similarity[:, before:]
    left = np.ones(len(relevance), bool)
    chosen = []
    for _ in range(min(count, len(relevance))):
        scores = np.where(left, weight * relevance - (1 - weight) * likeness, -np.inf)
        row = int(np.argmax(scores))
        chosen.append((row, float(scores[row])))
        left[row] = False
        likeness = np.maximum(likeness, similarity[row])
    return chosen
