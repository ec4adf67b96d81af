"""OpenSearch's client as it is by itself."""

from collections.abc import Mapping
from typing import Any

from assay.retrievers.engines.lucene import match
from assay.retrievers.engines.opensearch.queries import KnnSettings, nearest
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.models.base import Vectors


def open_client(url: str, index: str, knn: KnnSettings, options: Mapping[str, Any]) -> BareClient:
    """Return the client as the vendor's first page makes it; `options` say who asks."""
    from opensearchpy import OpenSearch

    client = OpenSearch(hosts=[url], **options)

    def ready(query: Mapping[str, Any], limit: int) -> Request:
        body = {"size": limit, "_source": False, "track_total_hits": False, "query": query}
        return lambda: [
            (hit["_id"], hit["_score"])
            for hit in client.search(index=index, body=body)["hits"]["hits"]
        ]

    def dense(vector: Vectors, limit: int) -> Request:
        return ready(nearest(knn, vector, limit), limit)

    def keyword(text: str, limit: int) -> Request:
        return ready(match(text), limit)

    return BareClient(dense, keyword, client.close)
