"""Qdrant, a server: dense and BM25 lists fused by its query interface."""

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.servers.collections import PREFIX
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import GONE, Fault, Row, Store, Target
from assay.retrievers.engines.stores.qdrant_edge import (
    QdrantStoreSettings,
    make_embedder,
    measure_terms,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import read_port, shorten
from assay.retrievers.services.retries import DENIED_RPC

WEIGHTS = Feature("fusion by weights", (1, 17))
GRPC_PORT = "QDRANT_GRPC_PORT"
REST_PORT, DEFAULT_GRPC_PORT = 6333, 6334
# A host that neither answers nor refuses is given up after this time.
PROBE_SECONDS = 1.0
# A server that comes back is found soon, not after the two minutes that a channel may wait.
CHANNEL = {"grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 2000}
# The least that the server takes for the size, in kB, from which on a graph is built and used.
SMALLEST_GRAPH = 10
NOTE = "assay"


class QdrantStore(Store):
    """A collection of points that have a text's position as id, its vector and its BM25 terms.

    Terms and their weights are made here, by the code of Qdrant's that `qdrant-edge` brings; the
    server multiplies them by idf. It is asked over REST for collections, and for what is in them
    over gRPC where that answers. A note is in a collection's metadata.
    """

    engine = "qdrant"
    vendor = "Qdrant"
    key = "QDRANT_API_KEY"
    needs_key = False
    in_flight = 4
    # The server takes 32 MB of JSON, in which a hybrid search lists them twice.
    most_listed = 1_000_000
    settings: "QdrantSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "DEADLINE_EXCEEDED": Fault("late"),
        "UNAVAILABLE": Fault("lost"),
        "NOT_FOUND": Fault("answered", status=GONE),
        "RESOURCE_EXHAUSTED": Fault("answered", status=429),
        **dict.fromkeys(DENIED_RPC, Fault("answered", status=401)),
        "RpcError": Fault("answered"),
        # Also where the client cannot read for how long the server asks to wait.
        "QdrantException": Fault("answered", status=429),
        "UnexpectedResponse": Fault("answered"),
        "TimeoutException": Fault("late"),
        "TransportError": Fault("lost"),
        "ResponseHandlingException": Fault("garbled"),
    }

    def connect(self) -> None:
        """Make the clients, one for searches where gRPC answers."""
        self._grpc_port = find_grpc_port(self.url)
        self._quiet = 0
        self._client = self._searcher = make_client(self.url, self.secret, self.settings)
        if self._grpc_port:
            self._searcher = make_client(self.url, self.secret, self.settings, self._grpc_port)
        self._embedder = make_embedder(self.settings.bm25)
        self.facts["protocol"] = "gRPC" if self._grpc_port else "REST"

    def read_version(self) -> str:
        """Return the server's version. Raises AssayError if it is too old."""
        version = str(self._client.info().version)
        if lack := WEIGHTS.find_lack(version):
            raise self.refuse(lack)
        return version

    def prepare(self, texts: Sequence[str], dimensions: int) -> dict[str, Any]:
        """Return the mean number of terms of a text, by which the terms are weighted."""
        average = measure_terms(texts, self.settings.bm25)
        self._weigher = make_embedder(self.settings.bm25, max(average, 1.0))
        return {"average_terms": round(average, 2)}

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the collection, of one shard: the statistics of terms are those of all of it."""
        from qdrant_client import models

        settings = self.settings
        # A node without edges makes no graph.
        graph = models.HnswConfigDiff(
            m=0 if settings.exact else settings.m,
            ef_construct=settings.ef_construct,
            full_scan_threshold=SMALLEST_GRAPH,
        )
        dense = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
        terms = models.SparseVectorParams(modifier=models.Modifier.IDF)
        least = 0 if settings.exact else SMALLEST_GRAPH
        self.make(
            lambda: self._client.create_collection(
                name,
                vectors_config={"dense": dense},
                sparse_vectors_config={"keyword": terms},
                hnsw_config=graph,
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=least),
                shard_number=1,
                metadata={NOTE: note},
            )
        )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put points; a text without a term has none."""
        from qdrant_client import models

        points = []
        for row in rows:
            terms = self._weigher.embed_document(row.text)
            vector: dict[str, Any] = {"dense": row.vector}
            if terms.indices:
                vector["keyword"] = models.SparseVector(indices=terms.indices, values=terms.values)
            points.append(models.PointStruct(id=row.position, vector=vector))
        self._client.upsert(name, points, wait=True)

    def is_ready(self, name: str) -> bool:
        """Return True if the server has merged and indexed; it may be green once before that."""
        told = self._client.get_collection(name)
        if told.status == "red":
            raise self.refuse(f"{name}: the server did not finish: {told.optimizer_status}")
        self._quiet = self._quiet + 1 if told.status == "green" else 0
        return self._quiet > 1

    def count(self, name: str) -> int:
        """Return how many points there are."""
        return int(self._client.count(name, exact=True).count)

    def mark(self, name: str, note: str) -> None:
        """Put the note into the metadata."""
        self._client.update_collection(name, metadata={NOTE: note})

    def find_notes(self) -> dict[str, str]:
        """Return the notes of the collections that may be this project's."""
        found = [each.name for each in self._client.get_collections().collections]
        return {name: self._read_note(name) for name in found if name.startswith(PREFIX)}

    def remove(self, name: str) -> None:
        """Remove the collection."""
        self._client.delete_collection(name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts."""
        return self._search(
            target.name,
            limit,
            query=vector.tolist(),
            using="dense",
            search_params=self._params(),
            query_filter=self._filter(target.allowed),
        )

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        if not (terms := self._find_terms(text)):
            return []
        among = self._filter(target.allowed)
        return self._search(target.name, limit, query=terms, using="keyword", query_filter=among)

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts: the server does not break ties."""
        from qdrant_client import models

        depth, weights, among = (
            self.settings.depth,
            self.settings.weights,
            self._filter(target.allowed),
        )
        dense = models.Prefetch(
            query=models.NearestQuery(nearest=vector.tolist()),
            using="dense",
            params=self._params(),
            filter=among,
            limit=depth.dense,
        )
        lists = [(dense, weights.dense)]
        if terms := self._find_terms(text):
            nearest = models.NearestQuery(nearest=terms)
            keyword = models.Prefetch(
                query=nearest, using="keyword", filter=among, limit=depth.keyword
            )
            lists.append((keyword, weights.keyword))
        fusion: Any = models.FusionQuery(fusion=models.Fusion.DBSF)
        if self.settings.fusion == "rrf":
            listed = [weight for _, weight in lists]
            fusion = models.RrfQuery(rrf=models.Rrf(k=self.settings.k, weights=listed))
        most = depth.dense + depth.keyword
        return self._search(target.name, most, prefetch=[one for one, _ in lists], query=fusion)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()
        self._searcher.close()

    @classmethod
    def find_fault(cls, error: Any) -> Fault | None:
        """Return the fault of an error, of gRPC by its status, or of what the client wraps."""
        import grpc
        from qdrant_client.http.exceptions import ResponseHandlingException

        if isinstance(error, grpc.RpcError):
            found = cls.faults.get(error.code().name, cls.faults["RpcError"])
            said = f"{error.code().name}: {error.details()} (gRPC; {GRPC_PORT}=0 is REST alone)"
            return Fault(found.kind, said, found.status)
        if isinstance(error, ResponseHandlingException):
            return super().find_fault(error.source) or Fault("garbled")
        return super().find_fault(error)

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's reason."""
        try:
            return error.structured()["status"]["error"]
        except (AttributeError, ValueError, KeyError, TypeError):
            return getattr(error, "reason_phrase", error)

    def _read_note(self, name: str) -> str:
        """Return the note of a collection, which another process may have removed."""
        note: dict[str, Any] = {}
        with self.suppress_gone():
            note = self._client.get_collection(name).config.metadata or {}
        return str(note.get(NOTE, ""))

    def _find_terms(self, text: str) -> Any:
        """Return the terms of a query; None if it has none."""
        from qdrant_client import models

        terms = self._embedder.embed_query(text)
        if not terms.indices:
            return None
        return models.SparseVector(indices=terms.indices, values=terms.values)

    def _params(self) -> Any:
        from qdrant_client import models

        exact = self.settings.exact
        return models.SearchParams(exact=exact, hnsw_ef=None if exact else self.settings.ef)

    def _filter(self, allowed: Allowed | None) -> Any:
        """Return the filter for the texts that may be found; None if all may be."""
        from qdrant_client import models

        if allowed is None:
            return None
        listed = allowed.fewer
        condition = models.HasIdCondition(has_id=listed.positions)
        if listed.others:
            return models.Filter(must_not=[condition])
        return models.Filter(must=[condition])

    def _search(self, name: str, limit: int, **query: Any) -> list[Scored]:
        found = self._searcher.query_points(name, limit=limit, with_payload=False, **query)
        return [(int(point.id), point.score) for point in found.points]


class QdrantSettings(QdrantStoreSettings, ServerSettings):
    """Qdrant, a server at QDRANT_URL: dense and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="qdrant",
        modules=("qdrant_client",),
        packages=("qdrant-client",),
        address="QDRANT_URL",
        features=(WEIGHTS,),
        met="1.18.3",
        restricts=True,
        # It stores the points of a request in an order that differs each time, as qdrant-edge does.
        reproducible="never",
    )
    store: ClassVar[type[QdrantStore]] = QdrantStore
    type: Literal["qdrant"] = "qdrant"


def find_grpc_port(url: str) -> int | None:
    """Return the port on which the server at `url` answers gRPC; None for REST alone.

    It is that of QDRANT_GRPC_PORT, of which 0 means none. Where that is not set it is Qdrant's own,
    if the server has Qdrant's own port for REST too: another one's may be another server. Raises
    AssayError for a port that is none, or that is named and does not answer.
    """
    named = os.environ.get(GRPC_PORT)
    parts = urlsplit(url)
    if not named and (parts.port not in (None, REST_PORT) or parts.path):
        return None
    port = read_port("qdrant", GRPC_PORT, DEFAULT_GRPC_PORT, least=0)
    if port == 0:
        return None
    try:
        socket.create_connection((parts.hostname, port), PROBE_SECONDS).close()
    except OSError as error:
        if named:
            raise AssayError(
                f"qdrant at {url}: gRPC at port {port} cannot be reached: {shorten(error)}; "
                f"{GRPC_PORT} names another port, or 0 for REST alone"
            ) from None
        return None
    return port


def make_client(url: str, key: str, settings: QdrantSettings, grpc_port: int | None = None) -> Any:
    """Return a client, which has connected to nothing yet; with a port for gRPC it prefers that.

    Connections over REST are kept as the client does by default: not on this machine, where an
    answer on a kept one waits for a delayed acknowledgement.
    """
    from qdrant_client import QdrantClient

    preferred = {"grpc_port": grpc_port, "grpc_options": dict(CHANNEL)} if grpc_port else {}
    return QdrantClient(
        url=url,
        api_key=key or None,
        timeout=max(1, round(settings.timeout_seconds)),
        check_compatibility=False,
        prefer_grpc=bool(grpc_port),
        **preferred,
    )
