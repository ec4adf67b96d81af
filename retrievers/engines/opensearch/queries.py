"""What is asked of OpenSearch: queries for terms and for neighbours, and their hits."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.lucene import list_ids
from assay.retrievers.engines.opensearch.client import OpenSearchClient
from assay.retrievers.engines.opensearch.fusion import Space
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Settings


class KnnSettings(Settings):
    """How OpenSearch compares vectors."""

    method: Literal["exact", "hnsw", "none"] = Field(
        "exact",
        description=(
            "exact: the k-NN plugin's script compares with every vector; hnsw; none: no vectors "
            "and no plugin, the keyword list alone"
        ),
    )
    engine: Literal["lucene", "faiss"] = Field(
        "lucene", description="hnsw: the library that builds and searches the graph"
    )
    space: Space = Field(
        "cosinesimil",
        description=(
            "what a dense score is in OpenSearch: cosinesimil (1 + cosine) / 2, innerproduct, "
            "l2 1 / (1 + squared distance); vectors of unit length have the same order in all"
        ),
    )
    m: int = Field(16, ge=2, le=100, description="hnsw: edges of a node")
    ef_construction: int = Field(100, ge=2, description="hnsw: candidates when the graph is built")
    ef_search: int | None = Field(
        None, ge=1, description="hnsw of faiss: candidates when searching; else 100, the server's"
    )

    @model_validator(mode="after")
    def _can_search(self) -> "KnnSettings":
        if self.ef_search is not None and (self.method, self.engine) != ("hnsw", "faiss"):
            raise ValueError("ef_search: hnsw of faiss only; lucene takes the depth for it")
        return self


def nearest(
    knn: KnnSettings, vector: Vectors, limit: int, allowed: Positions | None = None
) -> dict[str, Any]:
    """Return the query for the `limit` nearest texts; exact search orders all by nearness.

    With `allowed`, of the texts at these positions.
    """
    among = None if allowed is None else list_ids(allowed)
    if knn.method == "hnsw":
        query: dict[str, Any] = {"vector": vector.tolist(), "k": limit}
        if among:
            query["filter"] = among
        if knn.ef_search is not None:
            query["method_parameters"] = {"ef_search": knn.ef_search}
        return {"knn": {"vector": query}}
    params = {"field": "vector", "query_value": vector.tolist(), "space_type": knn.space}
    script = {"source": "knn_score", "lang": "knn", "params": params}
    return {"script_score": {"query": among or {"match_all": {}}, "script": script}}


def search(client: OpenSearchClient, name: str, size: int, body: Mapping[str, Any]) -> list[Scored]:
    """Return (position, score) as the server lists them; an answer that is not whole is none."""
    full = {"size": size, "_source": False, **body}
    answer = client.ask("search", index=name, body=full, allow_partial_search_results="false")
    if client.pick(answer, "timed_out"):
        raise AssayError(f"opensearch at {client.url}: the search ran out of time on the server")
    try:
        hits = client.pick(answer, "hits", "hits")
        return [(int(hit["_id"]), float(hit["_score"])) for hit in hits]
    except (KeyError, TypeError, ValueError) as error:
        raise AssayError(
            f"opensearch at {client.url}: answered hits that are none of this index: {error!r}"
        ) from error
