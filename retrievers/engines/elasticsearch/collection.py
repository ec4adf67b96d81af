"""Indexes in Elasticsearch: documents with a text and its vector."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from assay.retrievers.engines.elasticsearch.connection import (
    NOTE,
    ElasticsearchConnection,
    IncompleteError,
)
from assay.retrievers.engines.elasticsearch.settings import ElasticsearchIndexSettings
from assay.retrievers.engines.lucene import SORTED, make_body
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service import TakenError
from assay.retrievers.engines.servers.service_collections import (
    INDEXING_SECONDS,
    ServiceStore,
)

TEXTS_PER_REQUEST = 500
BYTES_PER_REQUEST = 5_000_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25


class ElasticsearchStore(ServiceStore[ElasticsearchConnection, ElasticsearchIndexSettings]):
    """An index of one document a text, its position as id, in the order of positions."""

    def create(self, name: str, note: str) -> None:
        """Make the index."""
        settings = self._settings
        graph = {"type": "hnsw", "m": settings.m, "ef_construction": settings.ef_construction}
        vector = {
            "type": "dense_vector",
            "dims": self.plan.dimensions,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": "flat"} if settings.exact else graph,
        }
        body = make_body(settings.bm25, self.plan.texts, {"vector": vector}, SORTED)
        mappings = {**body["mappings"], "_meta": {NOTE: note}}
        with suppress(TakenError):  # by a try of this process whose answer was lost
            self.connection.call(
                "indices.create", index=name, settings=body["settings"], mappings=mappings
            )

    def upload(self, name: str) -> None:
        """Put the documents into it, and merge them into one segment."""
        call, texts = self.connection.call, self._texts
        width = self.plan.dimensions * BYTES_PER_NUMBER
        for chosen in batch(
            self.track(range(len(texts))),
            TEXTS_PER_REQUEST,
            lambda i: width + 6 * len(texts[i]),
            BYTES_PER_REQUEST,
        ):
            operations: list[Mapping[str, Any]] = []
            for i in chosen:
                vector = self._vectors[i].tolist()
                operations.append({"index": {"_id": str(i)}})
                operations.append({"position": i, "text": texts[i], "vector": vector})
            call("bulk", check=_check_items, index=name, operations=operations)
        call("indices.refresh", index=name)
        call("indices.forcemerge", seconds=INDEXING_SECONDS, index=name, max_num_segments=1)
        call("indices.refresh", index=name)


def _check_items(answer: Mapping[str, Any]) -> None:
    """Raise where a document was not indexed; it is sent again with the others."""
    if answer.get("errors"):
        failed = [
            result["error"]
            for item in answer["items"]
            for result in item.values()
            if "error" in result
        ]
        reason = f"{failed[0].get('type')}: {failed[0].get('reason')}"
        raise IncompleteError(f"{len(failed)} texts are not stored: {reason}")
