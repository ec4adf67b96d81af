"""What an index in Azure AI Search is made with."""

from pydantic import Field

from assay.retrievers.settings import Settings


class AzureBm25Settings(Settings):
    """Azure's BM25, which is Lucene's, with the statistics of all shards."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    analyzer: str = Field(
        "en.lucene",
        pattern=r"[\w.-]+",
        description=(
            "the language analyzer by its name in Azure: en.lucene stems and drops stop words, "
            "standard.lucene does neither"
        ),
    )


class AzureIndexSettings(Settings):
    """What an index is made with."""

    bm25: AzureBm25Settings = Field(
        default_factory=AzureBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(
        True,
        description="exhaustive search, which compares with every vector; false: an HNSW graph",
    )
    m: int = Field(4, ge=4, le=10, description="HNSW: edges of a node")
    ef_construction: int = Field(
        400, ge=100, le=1000, description="HNSW: candidates when the graph is built"
    )
    ef: int = Field(500, ge=100, le=1000, description="HNSW: candidates when searching")
