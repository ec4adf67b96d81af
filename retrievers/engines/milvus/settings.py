"""What a collection of Milvus is made with, and how it fuses."""

from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights, StoreSettings
from assay.retrievers.engines.formulas import ArctangentScores, Formula, ReciprocalRanks
from assay.retrievers.settings import Settings

# The most that one search gives: milvus.io/docs/limitations.md
DEEPEST = 16_384


class MilvusBm25Settings(Settings):
    """Milvus' BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)): terms in lower case."""

    tokenizer: Literal["standard", "jieba"] = Field(
        "standard",
        description="standard splits at all but letters, digits and _; jieba for Chinese",
    )
    stop_words: list[str] = Field(
        default_factory=list, description="words in lower case that are dropped"
    )
    k1: float = Field(1.2, gt=0, le=3, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )

    @property
    def analyzer(self) -> dict[str, object]:
        """The analyzer as Milvus is told of it."""
        filters: list[object] = ["lowercase"]
        if self.stop_words:
            filters.append({"type": "stop", "stop_words": self.stop_words})
        return {"tokenizer": self.tokenizer, "filter": filters}


class MilvusIndexSettings(StoreSettings):
    """What Milvus can be told."""

    bm25: MilvusBm25Settings = Field(
        default_factory=MilvusBm25Settings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "weighted"] = Field(
        "rrf",
        description=(
            "rrf: RRFRanker, reciprocal rank fusion; weighted: WeightedRanker, weighted sum of "
            "scores that are each brought to between 0 and 1"
        ),
    )
    k: int = Field(
        60,
        ge=1,
        lt=DEEPEST,
        description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted",
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weighted only; they multiply scores; at most 1"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(30, ge=2, le=2048, description="HNSW: edges of a node")
    ef_construction: int = Field(360, ge=1, description="HNSW: candidates when it is built")
    ef: int = Field(
        200, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "MilvusIndexSettings":
        if self.depth.dense + self.depth.keyword > DEEPEST:
            raise ValueError(f"depth: Milvus gives {DEEPEST} texts at most, both lists together")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights in Milvus; leave them out, or use weighted")
        if max(self.weights.dense, self.weights.keyword) > 1:
            raise ValueError("weights: Milvus takes 0 to 1")
        return self

    def make_formula(self) -> Formula:
        """Return the fusion as Milvus' documents of its rerankers state it, in 32 bits."""
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k, rounded=True)
        return ArctangentScores((self.weights.dense, self.weights.keyword))

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construction])]
