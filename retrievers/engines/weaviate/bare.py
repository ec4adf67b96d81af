"""Weaviate's client as it is by itself."""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.engines.weaviate.connection import KEY
from assay.retrievers.models.base import Vectors


def open_client(url: str, grpc_port: int, collection: str, text_property: str) -> BareClient:
    """Return the client as the vendor's first page makes it."""
    import weaviate
    from weaviate.classes.init import Auth
    from weaviate.classes.query import BM25Operator, MetadataQuery

    place = urlsplit(url)
    secure, host = place.scheme == "https", place.hostname or ""
    client = weaviate.connect_to_custom(
        http_host=host,
        http_port=place.port or (443 if secure else 80),
        http_secure=secure,
        grpc_host=host,
        grpc_port=grpc_port,
        grpc_secure=secure,
        auth_credentials=Auth.api_key(key) if (key := os.environ.get(KEY)) else None,
        skip_init_checks=True,
    )
    query = client.collections.use(collection).query

    def ready(search: Callable[..., Any], given: Any, **options: Any) -> Request:
        return lambda: [
            (each.uuid, each.metadata)
            for each in search(given, return_properties=False, **options).objects
        ]

    def dense(vector: Vectors, limit: int) -> Request:
        wanted = MetadataQuery(distance=True)
        return ready(query.near_vector, vector.tolist(), limit=limit, return_metadata=wanted)

    def keyword(text: str, limit: int) -> Request:
        return ready(
            query.bm25,
            text,
            query_properties=[text_property],
            operator=BM25Operator.or_(minimum_match=1),
            limit=limit,
            return_metadata=MetadataQuery(score=True),
        )

    return BareClient(dense, keyword, client.close)
