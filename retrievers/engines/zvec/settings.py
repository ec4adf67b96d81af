"""What Zvec can be told: its keyword index, its dense index and how its lists are fused."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.analyzer_coverage import LANGUAGES, WordKey
from assay.retrievers.engines.base import LegWeights, StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.settings import Settings

Language = Literal[
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto",
    "estonian", "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
    "italian", "lithuanian", "nepali", "norwegian", "polish", "porter", "portuguese", "romanian",
    "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip


class ZvecAnalyzerSettings(Settings):
    """Zvec's BM25, of fixed k1 = 1.2 and b = 0.75: terms in lower case, no stop words dropped."""

    tokenizer: Literal["standard", "whitespace", "jieba"] = Field(
        "standard",
        description=(
            "standard splits at the word boundaries of Unicode, so that parse_json and 2.3 stay "
            "whole; whitespace; jieba for Chinese"
        ),
    )
    language: Language | None = Field(
        "english", description="language of the Snowball stemmer; null: no stemming"
    )
    ascii_folding: bool = Field(False, description="strip diacritics")


class ZvecCollectionSettings(StoreSettings):
    """What Zvec can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="zvec",
        modules=("zvec",),
        packages=("zvec",),
        restricts=True,
    )
    words: ClassVar[WordKey | None] = WordKey(
        "analyzer.tokenizer", dict.fromkeys(LANGUAGES, ("jieba",))
    )
    type: Literal["zvec"]
    fusion: Literal["rrf", "weighted"] = Field(
        "rrf",
        description=(
            "rrf: reciprocal rank fusion; weighted: sum of scores, each brought to between 0 and 1"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted"
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weighted only; they multiply scores"
    )
    metric: Literal["cosine", "ip"] = Field(
        "cosine",
        description=(
            "what the dense index compares by: cosine or inner product, which order alike here; in "
            "weighted fusion (1 + cosine) / 2 or 1/2 + arctan(cosine) / pi; a keyword score is "
            "2 arctan(score) / pi there"
        ),
    )
    analyzer: ZvecAnalyzerSettings = Field(
        default_factory=ZvecAnalyzerSettings,
        description="the engine's keyword index",
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(50, ge=2, description="HNSW: edges of a node")
    ef_construction: int = Field(500, ge=1, description="HNSW: candidates when it is built")
    ef: int = Field(
        300, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )

    @model_validator(mode="after")
    def _can_weigh(self) -> "ZvecCollectionSettings":
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights in Zvec; leave them out, or use weighted")
        return self
