"""Milvus' client as it is by itself."""

from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.milvus.collection import request_dense, request_keyword
from assay.retrievers.engines.milvus.settings import MilvusIndexSettings
from assay.retrievers.engines.raw_client import BareClient, Request

if TYPE_CHECKING:
    from pymilvus import MilvusClient


def ask_client(client: "MilvusClient", name: str, settings: MilvusIndexSettings) -> BareClient:
    """Return what asks `client` for texts of the collection `name`, and closes it."""

    def ready(request: dict[str, Any]) -> Request:
        return lambda: [
            (hit["position"], hit["distance"]) for hit in client.search(name, **request)[0]
        ]

    return BareClient(
        dense=lambda vector, limit: ready(request_dense(vector, limit, settings)),
        keyword=lambda text, limit: ready(request_keyword(text, limit)),
        close=client.close,
    )
