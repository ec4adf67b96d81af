"""Qdrant, a server: dense and BM25 lists fused by its query interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.declarative import StatedAdapter
from assay.retrievers.engines.qdrant.collection import QdrantCollectionStore, QdrantServer
from assay.retrievers.engines.qdrant.connection import (
    CAPABILITIES,
    QdrantConnection,
    QdrantConnectionSettings,
)
from assay.retrievers.engines.qdrant.settings import QdrantStoreSettings
from assay.retrievers.engines.qdrant.shard import make_embedder
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan
from assay.retrievers.engines.servers.server_engine import OpenIndex, ServerEngine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from qdrant_client import models

OpenedCollection: TypeAlias = OpenIndex[QdrantConnection]


class QdrantSettings(QdrantConnectionSettings, QdrantStoreSettings):
    """Qdrant, a server at QDRANT_URL: dense and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = CAPABILITIES
    type: Literal["qdrant"] = "qdrant"

    def build(self, resources: Resources) -> "QdrantEngine":
        """Return the engine, which has indexed nothing yet."""
        return QdrantEngine(self, resources)

    def server(self) -> QdrantServer:
        """Return the server, for its list of collections."""
        return QdrantServer(QdrantConnection(self))


class QdrantEngine(
    StatedAdapter[QdrantSettings, OpenIndex[QdrantConnection]],
    ServerEngine[QdrantSettings, QdrantConnection],
):
    """A collection of points that have a text's position as id, its vector and its BM25 terms.

    Terms and their weights are made here, by the code of Qdrant's that `qdrant-edge` brings; the
    server multiplies them by idf. An alias stands when the collection is whole.
    """

    # The server takes 32 MB of JSON, in which a hybrid search lists them twice.
    _most_listed = 1_000_000

    def __init__(self, settings: QdrantSettings, resources: Resources) -> None:
        super().__init__(settings, resources)
        self._embedder = make_embedder(settings.bm25)

    def _connect(self) -> QdrantConnection:
        return QdrantConnection(self._settings)

    def _read_version(self, connection: QdrantConnection) -> str:
        return connection.read_version()

    def _open(
        self,
        connection: QdrantConnection,
        plan: CollectionPlan,
        texts: Sequence[str],
        vectors: Vectors,
    ) -> Collection:
        """Tell also `average_terms`, the mean length of a text, and by what is searched."""
        self._facts["protocol"] = connection.protocol
        store = QdrantCollectionStore(
            connection, plan, self._settings, texts, vectors, self._resources.progress
        )
        found = store.open()
        self._facts["average_terms"] = round(float(found.note.get("average_terms", 0)), 2)
        return found

    def _search_dense(self, opened: OpenedCollection, vector: Vectors, limit: int) -> list[Scored]:
        return self._ask(
            opened,
            limit,
            query=vector.tolist(),
            using="dense",
            search_params=self._params(),
            query_filter=self._filter(),
        )

    def _search_keyword(self, opened: OpenedCollection, text: str, limit: int) -> list[Scored]:
        if not (terms := self._terms(text)):
            return []
        return self._ask(opened, limit, query=terms, using="keyword", query_filter=self._filter())

    def _search_hybrid(
        self, opened: OpenedCollection, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: the engine does not break ties."""
        from qdrant_client import models

        depth, weights = self.depth, self._settings.weights
        dense = models.Prefetch(
            query=models.NearestQuery(nearest=vector.tolist()),
            using="dense",
            params=self._params(),
            filter=self._filter(),
            limit=depth.dense,
        )
        lists = [(dense, weights.dense)]
        if terms := self._terms(text):
            nearest = models.NearestQuery(nearest=terms)
            keyword = models.Prefetch(
                query=nearest, using="keyword", filter=self._filter(), limit=depth.keyword
            )
            lists.append((keyword, weights.keyword))
        return self._ask(
            opened,
            depth.dense + depth.keyword,
            prefetch=[prefetch for prefetch, _ in lists],
            query=self._fusion([weight for _, weight in lists]),
        )

    def _terms(self, text: str) -> "models.SparseVector | None":
        """Return the terms of a query; None where it has none."""
        from qdrant_client import models

        terms = self._embedder.embed_query(text)
        if not terms.indices:
            return None
        return models.SparseVector(indices=terms.indices, values=terms.values)

    def _fusion(self, weights: list[float]) -> Any:
        from qdrant_client import models

        if self._settings.fusion == "dbsf":
            return models.FusionQuery(fusion=models.Fusion.DBSF)
        return models.RrfQuery(rrf=models.Rrf(k=self._settings.k, weights=weights))

    def _params(self) -> "models.SearchParams":
        from qdrant_client import models

        exact = self._settings.exact
        return models.SearchParams(exact=exact, hnsw_ef=None if exact else self._settings.ef)

    def _filter(self) -> "models.Filter | None":
        """Return what is met by the texts that may be found; None where all may be."""
        from qdrant_client import models

        if (listed := self._list_fewer()) is None:
            return None
        condition = models.HasIdCondition(has_id=listed.positions)
        if listed.others:
            return models.Filter(must_not=[condition])
        return models.Filter(must=[condition])

    def _ask(self, opened: OpenedCollection, limit: int, **query: Any) -> list[Scored]:
        found = opened.connection.search(
            lambda client: client.query_points(
                opened.name, limit=min(limit, self._texts), with_payload=False, **query
            )
        )
        return [(int(point.id), point.score) for point in found.points]
