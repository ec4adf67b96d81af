"""Qdrant's clients as they are by themselves."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.qdrant.connection import KEY
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import qdrant_edge
    from qdrant_client import models


def open_server(
    url: str,
    collection: str,
    params: "models.SearchParams",
    read_terms: Callable[[str], "models.SparseVector | None"],
) -> BareClient:
    """Return the client as the vendor's first page makes it: by REST."""
    from qdrant_client import QdrantClient

    client = QdrantClient(url=url, api_key=os.environ.get(KEY), check_compatibility=False)

    def ready(limit: int, **query: Any) -> Request:
        return lambda: [
            (point.id, point.score)
            for point in client.query_points(
                collection, limit=limit, with_payload=False, **query
            ).points
        ]

    def dense(vector: Vectors, limit: int) -> Request:
        return ready(limit, query=vector.tolist(), using="dense", search_params=params)

    def keyword(text: str, limit: int) -> Request:
        terms = read_terms(text)
        return ready(limit, query=terms, using="keyword") if terms else list

    return BareClient(dense, keyword, client.close)


def ask_shard(
    shard: "qdrant_edge.EdgeShard",
    params: "qdrant_edge.SearchParams",
    read_terms: Callable[[str], "qdrant_edge.Query"],
) -> BareClient:
    """Return the open shard, which can be open only once."""
    import qdrant_edge as q

    def ready(request: "qdrant_edge.QueryRequest") -> Request:
        return lambda: [(point.id, point.score) for point in shard.query(request)]

    def dense(vector: Vectors, limit: int) -> Request:
        query = q.Query.Nearest(vector.tolist(), using="dense")
        return ready(q.QueryRequest(limit=limit, query=query, params=params))

    def keyword(text: str, limit: int) -> Request:
        return ready(q.QueryRequest(limit=limit, query=read_terms(text)))

    return BareClient(dense, keyword, lambda: None)
