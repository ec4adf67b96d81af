"""What an index of Redis is made with, and how it fuses."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks
from assay.retrievers.engines.servers.service import ServiceSettings
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.settings import Settings

Language = Literal[
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
]  # fmt: skip


class RedisTextSettings(Settings):
    """Redis' BM25 (BM25STD), of fixed k1 = 1.2 and b = 0.75, with idf = ln(1 + (N - df + 0.5) /
    (df + 0.5)).
    """

    language: Language = Field("english", description="language of the Snowball stemmer")
    stop_words: bool = Field(True, description="drop Redis' 33 English stop words")


class RedisIndexSettings(ServiceSettings):
    """What Redis can be told."""

    language_key: ClassVar[str] = "text.language"
    text: RedisTextSettings = Field(
        default_factory=RedisTextSettings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "of FT.HYBRID: rrf, reciprocal rank fusion; linear, weighted sum of (1 + cosine) / 2 "
            "and the BM25 score as it is"
        ),
    )
    k: float = Field(60, gt=0, description="rrf's constant; a list adds 1 / (k + rank)")
    weights: LegWeights = Field(default_factory=LegWeights, description="linear only")
    exact: bool = Field(
        True, description="a FLAT index, which compares with every vector; false: an HNSW graph"
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        200, ge=1, le=4096, description="HNSW: candidates when the graph is built"
    )
    ef: int = Field(
        200, ge=1, le=4096, description="HNSW: candidates when searching; at least the limit"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "RedisIndexSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError("depth: Redis cuts both lists at one WINDOW; make both the same")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights here; leave them out, or use linear")
        return self

    def make_formula(self) -> Formula:
        """Return the fusion."""
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k)
        return WeightedScores((self.weights.dense, self.weights.keyword))

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.text, *([] if self.exact else [self.m, self.ef_construction])]


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

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        scores: dict[int, float] = defaultdict(float)
        for position, score in dense:
            scores[position] += self.weights[0] * (1 + score) / 2
        for position, score in keyword:
            scores[position] += self.weights[1] * score
        return ordered(scores.items())
