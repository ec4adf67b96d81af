"""What both forms of Qdrant have in common: its BM25, its vector index and how it fuses."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights, StoreSettings
from assay.retrievers.engines.formulas import DeviationScores, Formula, ReciprocalRanks
from assay.retrievers.settings import Settings

Language = Literal[
    "arabic", "azerbaijani", "basque", "bengali", "catalan", "chinese", "danish", "dutch",
    "english", "finnish", "french", "german", "greek", "hebrew", "hinglish", "hungarian",
    "indonesian", "italian", "japanese", "kazakh", "nepali", "norwegian", "portuguese", "romanian",
    "russian", "slovene", "spanish", "swedish", "tajik", "turkish",
]  # fmt: skip


class QdrantBm25Settings(Settings):
    """Qdrant's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) and its own tokenizer."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    language: Language = Field("english", description="language of stop words and stemming")
    tokenizer: Literal["word", "code", "whitespace", "multilingual"] = Field(
        "word",
        description=(
            "word splits at all but letters and digits; code also at humps and underscores; "
            "whitespace; multilingual for languages without spaces, which drops numbers"
        ),
    )
    ascii_folding: bool = Field(False, description="strip diacritics")


class QdrantStoreSettings(StoreSettings):
    """Base of the settings of both forms of Qdrant."""

    language_key: ClassVar[str] = "bm25.language"
    fusion: Literal["rrf", "dbsf"] = Field(
        "rrf",
        description=(
            "rrf: reciprocal rank fusion; dbsf: sum of scores, each list scaled to its mean plus "
            "and minus three standard deviations"
        ),
    )
    k: int = Field(
        61,
        ge=1,
        description=(
            "rrf's constant. A list adds 1 / (rank / weight + k - 1), ranks from 1: with weights "
            "of 1 the engine counts ranks from 0, so 61 is what 60 is elsewhere"
        ),
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="rrf only; a weight divides ranks"
    )
    bm25: QdrantBm25Settings = Field(
        default_factory=QdrantBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(16, ge=2, description="HNSW: edges of a node")
    ef_construct: int = Field(100, ge=4, description="HNSW: candidates when the graph is built")
    ef: int | None = Field(None, ge=1, description="HNSW: candidates when searching; the engine's")

    @model_validator(mode="after")
    def _can_weigh(self) -> "QdrantStoreSettings":
        if self.fusion == "dbsf" and self.weights != LegWeights():
            raise ValueError("fusion dbsf has no weights in Qdrant; leave them out, or use rrf")
        return self

    def make_formula(self) -> Formula:
        """Return the engine's fusion; its own precision is 32 bits."""
        if self.fusion == "dbsf":
            return DeviationScores()
        return ReciprocalRanks(
            k=self.k,
            first=0,
            weights=(self.weights.dense, self.weights.keyword),
            weigh="ranks",
            single=True,
        )

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construct])]
