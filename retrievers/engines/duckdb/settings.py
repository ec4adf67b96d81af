"""What DuckDB can be told: its keyword index, its dense index and how its lists are fused."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from assay.retrievers.engines.analyzer_coverage import WordKey
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.statements import StatementSettings
from assay.retrievers.settings import Settings

Stemmer = Literal[
    "none", "arabic", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "porter", "portuguese", "romanian", "russian", "serbian", "spanish",
    "swedish", "tamil", "turkish",
]  # fmt: skip


class DuckDbBm25Settings(Settings):
    """DuckDB's BM25, with idf = log10(1 + (N - df + 0.5) / (df + 0.5))."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    stemmer: Stemmer = Field("english", description="language of stemming")
    stop_words: Literal["english", "none"] = Field(
        "english", description="words that are not indexed: the engine's 571 English ones, or none"
    )
    ignore: str = Field(
        r"[^\p{L}\p{M}\p{N}]+",
        description=(
            "what separates terms, as a regular expression of RE2; the engine's own is "
            r"(\.|[^a-z])+, which drops digits and all other alphabets"
        ),
    )
    strip_accents: bool = Field(True, description="strip diacritics")

    @field_validator("ignore")
    @classmethod
    def _can_separate(cls, pattern: str) -> str:
        if not pattern or "\0" in pattern:
            raise ValueError("must not be empty")
        return pattern


class DuckDbFileSettings(StatementSettings):
    """What DuckDB can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "statement",
        approximate=("hnsw",),
        extra="duckdb",
        modules=("duckdb", "duckdb_extension_fts", "duckdb_extension_vss"),
        packages=("duckdb", "duckdb-extension-fts", "duckdb-extension-vss"),
        live=True,
        restricts=True,
    )
    words: ClassVar[WordKey | None] = WordKey("", {})
    type: Literal["duckdb"]
    bm25: DuckDbBm25Settings = Field(
        default_factory=DuckDbBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(16, ge=2, description="HNSW: edges of a node; at its lowest level twice as many")
    ef_construction: int = Field(
        128, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef_search: int = Field(
        64, ge=1, description="HNSW: candidates when searching; at least depth.dense are taken"
    )
