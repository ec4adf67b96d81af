"""Pinecone, a service: vectors alone."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE
from assay.retrievers.engines.pinecone.connection import (
    ADDRESS,
    NAMESPACE,
    PineconeConnection,
    cut_note,
)
from assay.retrievers.engines.pinecone.settings import PineconeIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

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


DEEPEST = 10_000

OpenedIndex: TypeAlias = OpenIndex[PineconeConnection]


class PineconeSettings(PineconeIndexSettings, ServiceSettings):
    """Pinecone, a service at PINECONE_URL: vectors alone; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        lists=("dense",),
        approximate=("serverless",),
        exact=False,
        extra="pinecone",
        modules=("pinecone",),
        packages=("pinecone",),
        address=ADDRESS,
    )
    type: Literal["pinecone"] = "pinecone"

    def build(self, resources: Resources) -> "PineconeEngine":
        """Return the engine, which has indexed nothing yet."""
        return PineconeEngine(self, resources)

    def connect(self) -> PineconeConnection:
        """Return connections to Pinecone."""
        return PineconeConnection(self)


class PineconeEngine(ServiceEngine[PineconeSettings, PineconeConnection]):
    """A serverless index of documents; its search is always approximate."""

    store = PineconeStore

    @property
    def formula(self) -> Formula:
        """The cosine."""
        return COSINE

    @property
    def _exact(self) -> bool:
        return False

    def _shape(self) -> Sequence[Any]:
        return [self._settings.cloud, self._settings.region]

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return texts of great cosine, 10,000 at most, which is as many as Pinecone gives."""
        clause = {"type": "dense_vector", "field": VECTOR, "values": vector.tolist()}

        def search() -> list[Scored]:
            documents = opened.connection.open_index(opened.name).documents
            most = min(limit, self._texts, DEEPEST)
            found = documents.search(namespace=NAMESPACE, score_by=[clause], top_k=most)
            return [(int(match.id), float(match.score)) for match in found.matches]

        return opened.connection.ask(search)
