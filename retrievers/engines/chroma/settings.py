"""What Chroma can be told: its graph and how it is searched."""

from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities


class ChromaCollectionSettings(StoreSettings):
    """What Chroma can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        approximate=("hnsw",),
        lists=("dense",),
        exact=False,
        extra="chroma",
        modules=("chromadb",),
        packages=("chromadb",),
        live=True,
        restricts=True,
    )
    type: Literal["chroma"]
    m: int = Field(
        16,
        ge=2,
        le=256,
        description="HNSW: edges of a node, at its lowest level twice as many; max_neighbors",
    )
    ef_construction: int = Field(
        100, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef: int = Field(
        100,
        ge=1,
        description="HNSW: candidates when searching; ef_search. Exact search there is none",
    )
