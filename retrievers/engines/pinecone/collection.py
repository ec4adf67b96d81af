"""Indexes in Pinecone: documents with a vector."""

from functools import partial
from typing import Any

from assay.retrievers.engines.pinecone.connection import NAMESPACE, PineconeConnection, cut_note
from assay.retrievers.engines.pinecone.settings import PineconeIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service_collections import ServiceStore

VECTOR = "vector"
# What one request may hold: docs.pinecone.io/reference/api/database-limits/operation-limits
DOCUMENTS_PER_REQUEST = 1000
BYTES_PER_REQUEST = 2_000_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25
BYTES_PER_DOCUMENT = 80


class PineconeStore(ServiceStore[PineconeConnection, PineconeIndexSettings]):
    """A serverless index of one document a text: its position as id, and its vector."""

    def create(self, name: str, note: str) -> None:
        """Make the index, and wait until it is ready."""
        client = self.connection.client
        field = {"type": "dense_vector", "dimension": self.plan.dimensions, "metric": "cosine"}
        place = {"cloud": self._settings.cloud, "region": self._settings.region}
        self.connection.make(
            lambda: client.indexes.create(
                name=name,
                schema={"fields": {VECTOR: field}},
                deployment={"deployment_type": "managed", **place},
                tags=cut_note(note),
                timeout=-1,
            )
        )
        self.wait(
            name,
            lambda: self.connection.ask(lambda: bool(client.indexes.describe(name).status.ready)),
        )

    def upload(self, name: str) -> None:
        """Put the documents into it, as many at once as one request may hold."""
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_DOCUMENT

        def send(documents: list[dict[str, Any]]) -> None:
            found = self.connection.open_index(name).documents
            found.upsert(namespace=NAMESPACE, documents=documents)

        for chosen in batch(
            self.track(range(self.plan.texts)),
            DOCUMENTS_PER_REQUEST,
            lambda _: width,
            BYTES_PER_REQUEST,
        ):
            documents = [{"_id": str(i), VECTOR: self._vectors[i].tolist()} for i in chosen]
            self.connection.ask(partial(send, documents))
