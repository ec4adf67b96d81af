"""What a collection in Weaviate is made with."""

from typing import Literal

from pydantic import Field

from assay.retrievers.settings import Settings


class WeaviateBm25Settings(Settings):
    """Weaviate's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)); it does not stem."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    tokenization: Literal[
        "word", "lowercase", "whitespace", "trigram", "gse", "gse_ch", "kagome_ja", "kagome_kr"
    ] = Field(
        "word",
        description=(
            "word splits at all but letters and digits; lowercase at white space; whitespace does "
            "too and keeps capitals; trigram; gse (Chinese, Japanese), gse_ch, kagome_ja and "
            "kagome_kr must be switched on at the server"
        ),
    )
    stop_words: Literal["en", "none"] = Field(
        "en", description="left out of queries, for tokenization word; texts keep them"
    )


class WeaviateIndexSettings(Settings):
    """What a collection is made with."""

    bm25: WeaviateBm25Settings = Field(
        default_factory=WeaviateBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    max_connections: int = Field(32, ge=4, le=2047, description="HNSW: edges of a node")
    ef_construction: int = Field(128, ge=4, description="HNSW: candidates when the graph is built")
    ef: int | None = Field(
        None,
        ge=1,
        description="HNSW: candidates when searching; the engine's is 8 a result, 100 to 500",
    )
