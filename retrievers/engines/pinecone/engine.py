"""Pinecone, a service: vectors alone."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import (
    Fault,
    GoneError,
    ServiceConnection,
    ServiceEngine,
    ServiceSettings,
)
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import read_address
from assay.retrievers.services.retries import read_retry_after
from assay.retrievers.settings import Resources, Settings

if TYPE_CHECKING:
    from pinecone import Index


ADDRESS = "PINECONE_URL"
# A tag's value is as long at most; an index has 20 of them.
TAG_LENGTH = 120
TAG = "assay-"
NAMESPACE = "texts"


class PineconeConnection(ServiceConnection):
    """Asks the control plane at PINECONE_URL, and each index at the host that this names."""

    engine = "pinecone"
    vendor = "Pinecone"
    key = "PINECONE_API_KEY"
    separator = "-"
    version = "2026-07"

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        from pinecone import Pinecone, RetryConfig

        self._once = RetryConfig(max_retries=0)
        self.client = Pinecone(
            api_key=self._secret,
            host=self.url,
            timeout=settings.timeout_seconds,
            retry_config=self._once,
        )
        self._indexes: dict[str, Index] = {}
        self._lock = Lock()

    def open_index(self, name: str) -> "Index":
        """Return the index, whose host is asked for once."""
        with self._lock:
            if name not in self._indexes:
                self._indexes[name] = self._without_retries(self.client.index(name))
            return self._indexes[name]

    def list_notes(self) -> dict[str, str]:
        """Return the notes, which are cut into tags."""
        found = self.ask(lambda: list(self.client.indexes.list()))
        return {index.name: _join(index.tags or {}) for index in found}

    def write_note(self, name: str, note: str) -> None:
        """Put a note that is no shorter in place of the one before."""
        self.ask(lambda: self.client.indexes.configure(name, tags=cut_note(note)))

    def count(self, name: str) -> int:
        """Return how many documents the index tells, which lags behind."""
        return self.ask(
            lambda: int(self.open_index(name).describe_index_stats().total_vector_count)
        )

    def drop(self, name: str) -> None:
        """Remove the index."""
        with suppress(GoneError):
            self.ask(lambda: self.client.indexes.delete(name, timeout=-1))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        for index in self._indexes.values():
            index.close()
        self.client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from pinecone import errors

        if isinstance(error, errors.ApiError):
            wait = read_retry_after(error.headers or {}) or 0.0
            return Fault("answered", error.message, error.status_code, wait)
        if isinstance(error, errors.PineconeTimeoutError):
            return Fault("late")
        if isinstance(error, errors.PineconeConnectionError):
            return Fault("lost", error)
        return Fault("garbled") if isinstance(error, errors.ResponseParsingError) else None

    def _without_retries(self, index: "Index") -> "Index":
        """Leave retries to this project, which keeps them out of latencies.

        The client has no setting for it where documents are searched.
        """
        from pinecone._internal.http_client import HTTPClient

        index._http.close()
        config = replace(index._config, retry_config=self._once)
        index._http = HTTPClient(config, self.version)
        return index


def cut_note(note: str) -> dict[str, str]:
    """Return the tags that hold a note."""
    starts = range(0, len(note), TAG_LENGTH)
    return {f"{TAG}{i}": note[start : start + TAG_LENGTH] for i, start in enumerate(starts)}


def _join(tags: dict[str, str]) -> str:
    return "".join(tags.get(f"{TAG}{i}", "") for i in range(len(tags)))


class PineconeIndexSettings(Settings):
    """Where an index is kept."""

    cloud: Literal["aws", "gcp", "azure"] = Field(
        "aws", description="whose machines keep the index"
    )
    region: str = Field("us-east-1", min_length=1, description="the region, by the cloud's name")


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
