"""What an index of Elasticsearch is made with, and how its retrievers fuse."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.formulas import Formula, Head, ReciprocalRanks, state_weights
from assay.retrievers.engines.lucene import LuceneBm25Settings
from assay.retrievers.engines.servers.service import ServiceSettings
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.settings.trust import PLACE

# The most num_candidates, and so the most neighbours.
DEEPEST = 10_000


class ElasticsearchIndexSettings(ServiceSettings):
    """What Elasticsearch can be told."""

    language_key: ClassVar[str] = "bm25.analyzer"
    ca_certs: Annotated[str | None, PLACE] = Field(
        None, description="file with the certificates of the authorities to trust"
    )
    bm25: LuceneBm25Settings = Field(
        default_factory=LuceneBm25Settings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "the retriever: rrf, reciprocal rank fusion; linear, weighted sum of scores, each "
            "list's lowest scaled to 0 and its highest to 1. Both need a licence of Elastic"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's rank_constant; a list adds 1 / (k + rank), ranks from 1"
    )
    weights: LegWeights = Field(default_factory=LegWeights, description="linear only")
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        100, ge=2, le=3200, description="HNSW: candidates when the graph is built"
    )
    candidates: int = Field(
        200,
        ge=1,
        le=DEEPEST,
        description="HNSW: candidates when searching; never fewer than are asked for",
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "ElasticsearchIndexSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError(
                "depth: Elasticsearch cuts both lists at one rank_window_size; make both the same"
            )
        if not 2 <= self.depth.dense <= DEEPEST:
            raise ValueError(f"depth: Elasticsearch takes 2 to {DEEPEST} candidates of a list")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights here; leave them out, or use linear")
        return self

    @property
    def features(self) -> list[Feature]:
        """What these settings ask of a server that not every one has."""
        return [RRF if self.fusion == "rrf" else LINEAR]

    def make_formula(self) -> Formula:
        """Return the fusion; no more than a list is deep are returned of it."""
        whole: Formula = ReciprocalRanks(k=self.k, single=True)
        if self.fusion == "linear":
            whole = LinearScores((self.weights.dense, self.weights.keyword))
        return Head(whole, self.depth.dense)

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construction])]


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

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
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


LICENCE = "an Enterprise or trial licence"
RRF = Feature("the retriever rrf", (8, 16), LICENCE)
LINEAR = Feature("the retriever linear with minmax", (8, 18), LICENCE)
FEATURES = (RRF, LINEAR)
