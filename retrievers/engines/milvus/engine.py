"""Milvus, a server: dense and BM25 lists fused by its rerankers."""

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.milvus.collection import (
    DENSE,
    MOST_LISTED,
    create_collection,
    make_rows,
    search_both,
    search_dense,
    search_keyword,
)
from assay.retrievers.engines.milvus.settings import MilvusIndexSettings
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.servers import PREFIX
from assay.retrievers.engines.servers.service import (
    GONE,
    Fault,
    ServiceConnection,
    ServiceSettings,
    StatedEngine,
)
from assay.retrievers.engines.servers.service_collections import (
    INDEXING_SECONDS,
    ServiceStore,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import read_address
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from pymilvus import MilvusClient


T = TypeVar("T")
ADDRESS = "MILVUS_URL"
BM25 = Feature("keyword search by BM25", (2, 5))
PORT = 19530
NOTE = "assay.note"
# Milvus' own codes, and what of HTTP says the same: pkg/util/merr/errors.go
STATUSES = {8: 429, 100: GONE, 1807: 403, 1808: 403}
RPC_STATUSES = {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 429}


class OneTry(float):
    """A time limit in seconds that the client takes for over after its first try.

    It tries a call that found nobody again until `elapsed >= limit`, and all of its tries would be
    counted as the server's time.
    """

    def __le__(self, _: float) -> bool:
        return True


class MilvusConnection(ServiceConnection):
    """Asks the server at MILVUS_URL, over gRPC.

    The note of a collection is a property of it: Milvus keeps also those that it does not know.
    """

    engine = "milvus"
    vendor = "Milvus"
    key = "MILVUS_TOKEN"
    needs_key = False

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        from pymilvus import MilvusClient

        # What it logs of each failed call, it also raises.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)

        def connect() -> "MilvusClient":
            # The client would wait for as long as it may where nobody listens.
            parts = urlsplit(self.url)
            socket.create_connection((parts.hostname, parts.port or PORT), self._timeout).close()
            return MilvusClient(self.url, token=self._secret, timeout=self._timeout, dedicated=True)

        self._client = self.ask(connect)
        try:
            self.version = str(self.call(lambda c, **options: c.get_server_version(**options)))
            if lack := BM25.find_lack(self.version):
                raise AssayError(f"{self.engine} at {self.url}: {lack}")
        except BaseException:
            self.close()
            raise

    def call(self, action: Callable[..., T], seconds: float | None = None) -> T:
        """Return what `action` gives with the client and the options of each of its calls."""
        options = {"timeout": OneTry(seconds or self._timeout), "retry_on_rate_limit": False}
        return self.ask(lambda: action(self._client, **options))

    def list_notes(self) -> dict[str, str]:
        """Return the notes of the collections."""
        names = self.call(lambda c, **options: c.list_collections(**options))
        return {name: self._read_note(name) for name in names if name.startswith(PREFIX)}

    def write_note(self, name: str, note: str) -> None:
        """Put the note among the properties."""
        properties = {NOTE: note}
        self.call(lambda c, **options: c.alter_collection_properties(name, properties, **options))

    def count(self, name: str) -> int:
        """Return how many texts there are."""
        self.load(name)
        found = self.call(lambda c, **options: c.query(name, output_fields=["count(*)"], **options))
        return int(found[0]["count(*)"])

    def load(self, name: str) -> None:
        """Have the server load the collection, so that it can be searched."""
        self.call(lambda c, **options: c.load_collection(name, **options), INDEXING_SECONDS)

    def drop(self, name: str) -> None:
        """Remove the collection."""
        if self.call(lambda c, **options: c.has_collection(name, **options)):
            self.call(lambda c, **options: c.drop_collection(name, **options))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        import grpc
        from pymilvus.client.types import Status
        from pymilvus.exceptions import MilvusException

        if isinstance(error, TimeoutError):
            return Fault("late")
        if isinstance(error, OSError):
            return Fault("lost", error.strerror or error)
        if isinstance(error, grpc.RpcError):
            code, said = error.code(), error.details()
        elif isinstance(error, MilvusException):
            # Before it the client says how often it tried.
            code, said = error.code, error.message.rpartition("message=")[2]
        else:
            return None
        if code == Status.CONNECT_FAILED:
            return Fault("lost", said)
        if not isinstance(code, grpc.StatusCode):
            return Fault("answered", said, STATUSES.get(code, 0))
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return Fault("late")
        if code.name in RPC_STATUSES:
            return Fault("answered", said, RPC_STATUSES[code.name])
        return Fault("lost", said)

    def _read_note(self, name: str) -> str:
        told = self.call(lambda c, **options: c.describe_collection(name, **options))
        return str(told["properties"].get(NOTE, ""))


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
