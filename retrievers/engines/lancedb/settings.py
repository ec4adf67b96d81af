"""What LanceDB can be told: its keyword index, its dense index and how its lists are fused."""

from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.settings import Settings

Language = Literal[
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil",
    "turkish",
]  # fmt: skip


class LanceFtsSettings(Settings):
    """LanceDB's BM25, of fixed k1 = 1.2 and b = 0.75: terms in lower case."""

    tokenizer: Literal["simple", "whitespace", "icu", "icu/split"] = Field(
        "simple",
        description=(
            "simple splits at all but letters and digits; whitespace; icu at the word boundaries "
            "of Unicode, with a dictionary for languages without spaces; icu/split also as simple"
        ),
    )
    language: Language = Field("english", description="language of stop words and stemming")
    stem: bool = Field(True, description="reduce words to their Snowball stem")
    stop_words: bool = Field(True, description="drop the language's stop words")
    ascii_folding: bool = Field(True, description="strip diacritics")
    max_token_length: int = Field(40, ge=1, description="characters; longer terms are dropped")


class LanceIndexSettings(Settings):
    """LanceDB's vector index: partitions of k-means, with an HNSW graph in each or without.

    pq and sq quantise the vectors, to products and to 8 bits.
    """

    type: Literal["flat", "ivf-flat", "ivf-pq", "hnsw-flat", "hnsw-sq"] = Field(
        "flat", description="flat compares with every vector; the others are approximate"
    )
    partitions: int | None = Field(
        None, ge=1, description="partitions; null: the engine's, one for small collections"
    )
    nprobes: int = Field(20, ge=1, description="partitions that are searched")
    refine_factor: int | None = Field(
        None,
        ge=1,
        description=(
            "with quantised vectors: this many times the candidates are compared exactly; null: "
            "none, and their scores are estimates"
        ),
    )
    m: int = Field(20, ge=2, description="HNSW: edges of a node")
    ef_construction: int = Field(300, ge=4, description="HNSW: candidates when it is built")
    ef: int | None = Field(
        None,
        ge=1,
        description=(
            "HNSW: candidates when searching, never fewer than are asked for; null: the engine's, "
            "1.5 times as many"
        ),
    )
    sub_vectors: int | None = Field(
        None, ge=1, description="pq: parts of a vector; null: the engine's, dimensions / 16"
    )


class LanceTableSettings(StoreSettings):
    """What LanceDB can be told."""

    language_key: ClassVar[str] = "fts.language"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "client",
        approximate=("ivf-flat", "ivf-pq", "hnsw-flat", "hnsw-sq"),
        extra="lancedb",
        modules=("lancedb",),
        packages=("lancedb",),
        restricts=True,
    )
    type: Literal["lancedb"]
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "the client's reranker. rrf: RRFReranker; linear: LinearCombinationReranker, a "
            "weighted sum of both lists' scores, each scaled to between 0 and 1. Its own hybrid "
            "query takes as many candidates of each list as it returns; here `depth` says how many"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted"
    )
    weight: float = Field(
        0.7, ge=0, le=1, description="linear: weight of the dense list; 1 - weight the keyword's"
    )
    fill: float = Field(
        1.0,
        ge=0,
        le=1,
        description="linear: 1 - fill is the scaled score where a text is missing in a list",
    )
    fts: LanceFtsSettings = Field(
        default_factory=LanceFtsSettings,
        description="the engine's keyword index",
    )
    index: LanceIndexSettings = Field(
        default_factory=LanceIndexSettings, description="the engine's dense index"
    )
