"""Pinecone, a service: vectors alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import COSINE, Formula
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from pinecone import Index

VECTOR, NAMESPACE = "vector", "texts"
# A tag's value is as long at most; an index has 20 of them.
TAG_LENGTH = 120
TAG = "assay-"


class PineconeStore(Store):
    """A serverless index of one document per text: its position as id, and its vector.

    PINECONE_URL names the control plane, which returns the host of each index. Notes are split into
    tags. The limits of one request:
    docs.pinecone.io/reference/api/database-limits/operation-limits
    """

    engine = "pinecone"
    vendor = "Pinecone"
    key = "PINECONE_API_KEY"
    separator = "-"
    eventual = True
    rows_per_request = 1000
    bytes_per_request = 2_000_000
    deepest = 10_000
    settings: "PineconeSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "ApiError": Fault("answered"),
        "PineconeTimeoutError": Fault("late"),
        "PineconeConnectionError": Fault("lost"),
        "ResponseParsingError": Fault("garbled"),
    }

    def connect(self) -> None:
        """Make the client of the control plane."""
        from pinecone import Pinecone, RetryConfig

        self._once = RetryConfig(max_retries=0)
        self.client = Pinecone(
            api_key=self.secret,
            host=self.url,
            timeout=self.settings.timeout_seconds,
            retry_config=self._once,
        )
        self._indexes: dict[str, Index] = {}
        self._lock = Lock()

    def read_version(self) -> str:
        """Return the version of the API used, since the service reports none of its own."""
        return "2026-07"

    def open_index(self, name: str) -> "Index":
        """Return the index, whose host is looked up once.

        Retries are made by this project, which keeps them out of latencies: the client has no
        setting for them in searches.
        """
        from pinecone._internal.http_client import HTTPClient

        with self._lock:
            if name not in self._indexes:
                index = self.client.index(name)
                index._http.close()
                config = replace(index._config, retry_config=self._once)
                index._http = HTTPClient(config, self.version)
                self._indexes[name] = index
            return self._indexes[name]

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the index."""
        field = {"type": "dense_vector", "dimension": dimensions, "metric": "cosine"}
        place = {"cloud": self.settings.cloud, "region": self.settings.region}
        self.make(
            lambda: self.client.indexes.create(
                name=name,
                schema={"fields": {VECTOR: field}},
                deployment={"deployment_type": "managed", **place},
                tags=_cut_note(note),
                timeout=-1,
            )
        )

    def is_made(self, name: str) -> bool:
        """Return True if the index is ready."""
        return bool(self.client.indexes.describe(name).status.ready)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put documents."""
        documents = [{"_id": str(row.position), VECTOR: row.vector} for row in rows]
        self.open_index(name).documents.upsert(namespace=NAMESPACE, documents=documents)

    def count(self, name: str) -> int:
        """Return the number of documents that the index reports, which lags behind."""
        return int(self.open_index(name).describe_index_stats().total_vector_count)

    def mark(self, name: str, note: str) -> None:
        """Put a note that is no shorter in place of the one before."""
        self.client.indexes.configure(name, tags=_cut_note(note))

    def find_notes(self) -> dict[str, str]:
        """Return the notes."""
        notes = {}
        for index in self.client.indexes.list():
            tags = index.tags or {}
            notes[index.name] = "".join(tags.get(f"{TAG}{i}", "") for i in range(len(tags)))
        return notes

    def remove(self, name: str) -> None:
        """Remove the index."""
        self.client.indexes.delete(name, timeout=-1)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return texts of great cosine."""
        clause = {"type": "dense_vector", "field": VECTOR, "values": vector.tolist()}
        documents = self.open_index(target.name).documents
        found = documents.search(namespace=NAMESPACE, score_by=[clause], top_k=limit)
        return [(int(match.id), float(match.score)) for match in found.matches]

    def close(self) -> None:
        """Close the connections; may be called twice."""
        for index in self._indexes.values():
            index.close()
        self.client.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the service's message."""
        return getattr(error, "message", error)


class PineconeSettings(ServerSettings):
    """Pinecone, a service at PINECONE_URL: vectors alone; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        lists=("dense",),
        approximate=("serverless",),
        exact=False,
        extra="pinecone",
        modules=("pinecone",),
        packages=("pinecone",),
        address="PINECONE_URL",
    )
    store: ClassVar[type[PineconeStore]] = PineconeStore
    type: Literal["pinecone"] = "pinecone"
    cloud: Literal["aws", "gcp", "azure"] = Field(
        "aws", description="whose machines keep the index"
    )
    region: str = Field("us-east-1", min_length=1, description="the region, by the cloud's name")

    def make_formula(self) -> Formula:
        """Return the description of the dense list."""
        return COSINE

    def list_shape(self) -> list[Any]:
        """Return where an index is kept."""
        return [self.cloud, self.region]

    def is_exact(self, texts: int) -> bool:
        """Search is always approximate."""
        return False


def _cut_note(note: str) -> dict[str, str]:
    """Return the tags that hold a note."""
    starts = range(0, len(note), TAG_LENGTH)
    return {f"{TAG}{i}": note[start : start + TAG_LENGTH] for i, start in enumerate(starts)}
