"""What FAISS can be told: its index and how it is searched."""

from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.settings import Settings


class FaissIndexSettings(Settings):
    """FAISS' index: all vectors, an HNSW graph of them, or partitions of quantised ones."""

    type: Literal["flat", "hnsw", "hnsw-sq", "ivf-pq"] = Field(
        "flat",
        description=(
            "flat compares with every vector; the others are approximate. hnsw-sq keeps 8 bits of "
            "each number of a vector. Fewer texts than ivf-pq has codes (2 to the power of "
            "`bits`) cannot train it, and are searched flat"
        ),
    )
    m: int = Field(
        32, ge=2, le=256, description="HNSW: edges of a node; at its lowest level twice as many"
    )
    ef_construction: int = Field(
        128, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef: int = Field(
        64, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )
    partitions: int | None = Field(
        None,
        ge=1,
        description="IVF: partitions of k-means; null: the square root of the number of texts",
    )
    nprobe: int = Field(8, ge=1, description="IVF: partitions that are searched")
    sub_vectors: int | None = Field(
        None,
        ge=1,
        description=(
            "PQ: equal parts of a vector, each a code; null: as many as have eight dimensions or "
            "a few more"
        ),
    )
    bits: int = Field(8, ge=4, le=8, description="PQ: bits of a code")
    refine_factor: int | None = Field(
        None,
        ge=1,
        description=(
            "PQ: this many times the candidates are compared exactly, for which the vectors are "
            "kept too; null: none, and scores are estimates"
        ),
    )
    seed: int = Field(1234, ge=0, le=2**31 - 1, description="IVF and PQ: seed of their k-means")


class FaissFileSettings(StoreSettings):
    """What FAISS can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        approximate=("hnsw", "hnsw-sq", "ivf-pq"),
        lists=("dense",),
        extra="faiss",
        modules=("faiss",),
        packages=("faiss-cpu",),
        restricts=True,
        reproducible="always",
    )
    type: Literal["faiss"]
    index: FaissIndexSettings = Field(
        default_factory=FaissIndexSettings, description="the engine's dense index"
    )
