"""Milvus, a server: dense and BM25 lists fused by its rerankers."""

import os
from typing import ClassVar, Literal, TypeAlias

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.milvus.bare import ask_client
from assay.retrievers.engines.milvus.collection import (
    DENSE,
    MOST_LISTED,
    create_collection,
    make_rows,
    search_both,
    search_dense,
    search_keyword,
)
from assay.retrievers.engines.milvus.connection import ADDRESS, BM25, MilvusConnection
from assay.retrievers.engines.milvus.settings import MilvusIndexSettings
from assay.retrievers.engines.raw_client import BareClient
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceSettings, StatedEngine
from assay.retrievers.engines.servers.service_collections import (
    INDEXING_SECONDS,
    ServiceStore,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

OpenedCollection: TypeAlias = OpenIndex[MilvusConnection]


class MilvusSettings(MilvusIndexSettings, ServiceSettings):
    """Milvus, a server at MILVUS_URL: dense and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="milvus",
        modules=("pymilvus",),
        packages=("pymilvus",),
        address=ADDRESS,
        features=(BM25,),
        restricts=True,
    )
    type: Literal["milvus"] = "milvus"

    def build(self, resources: Resources) -> "MilvusEngine":
        """Return the engine, which has indexed nothing yet."""
        return MilvusEngine(self, resources)

    def connect(self) -> MilvusConnection:
        """Return connections to the server."""
        return MilvusConnection(self)


class MilvusStore(ServiceStore[MilvusConnection, MilvusIndexSettings]):
    """A collection of one row a text, its position as primary key."""

    def create(self, name: str, note: str) -> None:
        """Make the collection."""
        self.connection.call(
            lambda client, **options: create_collection(
                client, name, self.plan.dimensions, self._settings, **options
            )
        )
        self.connection.write_note(name, note)

    def upload(self, name: str) -> None:
        """Put the rows into it, and wait until they are stored and in the dense index."""
        for rows in make_rows(self.track(range(len(self._texts))), self._texts, self._vectors):
            self.connection.call(
                lambda client, rows=rows, **options: client.upsert(name, rows, **options)
            )
        self.connection.call(lambda c, **options: c.flush(name, **options), INDEXING_SECONDS)
        self.wait(name, lambda: not self._count_unindexed(name))

    def _count_unindexed(self, name: str) -> int:
        told = self.connection.call(lambda c, **options: c.describe_index(name, DENSE, **options))
        return int(told.get("pending_index_rows", 0))


class MilvusEngine(StatedEngine[MilvusSettings, MilvusConnection]):
    """A collection of rows with a text, its vector, and its terms, which the server makes."""

    store = MilvusStore
    _most_listed = MOST_LISTED

    def _search_dense(self, opened: OpenedCollection, vector: Vectors, limit: int) -> list[Scored]:
        listed = self._list_fewer()
        return opened.connection.call(
            lambda client, **options: search_dense(
                client, opened.name, vector, limit, self._settings, listed, **options
            )
        )

    def _search_keyword(self, opened: OpenedCollection, text: str, limit: int) -> list[Scored]:
        listed = self._list_fewer()
        return opened.connection.call(
            lambda client, **options: search_keyword(
                client, opened.name, text, limit, listed, **options
            )
        )

    def _search_hybrid(
        self, opened: OpenedCollection, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: how ties are broken is not documented."""
        listed = self._list_fewer()
        return opened.connection.call(
            lambda client, **options: search_both(
                client, opened.name, text, vector, self._settings, listed, **options
            )
        )

    def _open_bare(self, opened: OpenedCollection) -> BareClient:
        """Return the client as the vendor's first page makes it."""
        from pymilvus import MilvusClient

        token = os.environ.get(MilvusConnection.key, "")
        client = MilvusClient(opened.connection.url, token=token)
        return ask_client(client, opened.name, self._settings)
