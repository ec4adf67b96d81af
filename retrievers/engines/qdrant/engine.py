"""Qdrant, a server: dense and BM25 lists fused by its query interface."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from retrievers.base import IndexReport
from retrievers.engines.base import Capabilities, Engine, check_dimensions
from retrievers.engines.formulas import Formula
from retrievers.engines.qdrant.collection import open_collection
from retrievers.engines.qdrant.connection import QdrantConnection, QdrantConnectionSettings
from retrievers.engines.qdrant.server import QdrantServer
from retrievers.engines.qdrant.settings import QdrantStoreSettings
from retrievers.engines.qdrant.shard import make_embedder
from retrievers.engines.recall import measure_recall
from retrievers.engines.servers import CollectionPlan, name_index
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    from qdrant_client import models


class QdrantSettings(QdrantConnectionSettings, QdrantStoreSettings):
    """Qdrant, a server at QDRANT_URL: dense and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), server=True, extra="qdrant"
    )
    type: Literal["qdrant"] = "qdrant"

    def build(self, workshop: Workshop) -> "QdrantEngine":
        """Return the engine, which has indexed nothing yet."""
        return QdrantEngine(self)

    def server(self) -> QdrantServer:
        """Return the server, for its list of collections."""
        return QdrantServer(QdrantConnection(self))


class QdrantEngine(Engine):
    """A collection of points that have a text's position as id, its vector and its BM25 terms.

    Terms and their weights are made here, by the code of Qdrant's that `qdrant-edge` brings; the
    server multiplies them by idf. An alias stands when the collection is whole.
    """

    def __init__(self, settings: QdrantSettings) -> None:
        self.depth = settings.depth
        self._settings = settings
        self._embedder = make_embedder(settings.bm25)
        self._connection: QdrantConnection | None = None
        self._name = ""
        self._texts = 0
        self._dimensions = 0
        self._facts: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the collection on the server, or make it there."""
        self.close()
        if not texts:
            return IndexReport(0)
        plan = self._plan(texts, vectors, identity)
        self._connection = QdrantConnection(self._settings)
        self._name, self._texts, self._dimensions = plan.name, plan.texts, plan.dimensions
        try:
            version = self._connection.read_version()
            opened = open_collection(self._connection, plan, self._settings, texts, vectors)
            self._facts = {
                "version": version,
                "index": plan.name,
                "average_terms": round(opened.average_terms, 2),
            }
            if not self._settings.exact:
                self._facts["recall_against_exact"] = measure_recall(self.dense, vectors)
        except BaseException:
            self.close()
            raise
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": opened.seconds},
            cached=("engine",) if opened.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; the order of equal ones is the engine's."""
        if self._connection is None:
            return []
        check_dimensions("qdrant", vector, self._dimensions)
        return self._ask(
            query=vector.tolist(), using="dense", search_params=self._params(), limit=limit
        )

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score; the order of equal ones is the engine's."""
        terms = self._terms(text) if self._connection else None
        if terms is None:
            return []
        return self._ask(query=terms, using="keyword", limit=limit)

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts.

        The engine does not break ties, so it is asked for all that it fused, and cut here.
        """
        if self._connection is None:
            return []
        from qdrant_client import models

        check_dimensions("qdrant", vector, self._dimensions)
        depth, weights = self.depth, self._settings.weights
        dense = models.Prefetch(
            query=models.NearestQuery(nearest=vector.tolist()),
            using="dense",
            params=self._params(),
            limit=depth.dense,
        )
        lists = [(dense, weights.dense)]
        if terms := self._terms(text):
            nearest = models.NearestQuery(nearest=terms)
            keyword = models.Prefetch(query=nearest, using="keyword", limit=depth.keyword)
            lists.append((keyword, weights.keyword))
        fused = self._ask(
            prefetch=[prefetch for prefetch, _ in lists],
            query=self._fusion([weight for _, weight in lists]),
            limit=depth.dense + depth.keyword,
        )
        if self._settings.fusion == "rrf":  # a list of weight 0 leaves its texts with score 0
            fused = [(position, score) for position, score in fused if score > 0]
        return ordered(fused)[:limit]

    @property
    def formula(self) -> Formula:
        """The engine's fusion."""
        return self._settings.make_formula()

    def facts(self) -> Mapping[str, Any]:
        """Return also the collection's alias, and `average_terms`, the mean length of a text."""
        return {
            "engine": "qdrant",
            "version": "",
            "exact": self._settings.exact,
            **self._facts,
        }

    def close(self) -> None:
        """Close the connections; the collection stays on the server."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._facts = None, {}

    def _plan(self, texts: Sequence[str], vectors: Vectors, identity: str) -> CollectionPlan:
        settings, here = self._settings, Path(__file__)
        graph = [] if settings.exact else [settings.m, settings.ef_construct]
        sources = [here.with_name(f"{name}.py") for name in ("collection", "shard")]
        key = digest(digest_sources(here, *sources), settings.bm25, graph, identity, texts)
        return CollectionPlan(name_index(key), key, identity, len(texts), vectors.shape[1])

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

    def _ask(self, limit: int, **query: Any) -> list[Scored]:
        if self._connection is None:
            return []
        found = self._connection.ask(
            lambda client: client.query_points(
                self._name, limit=min(limit, self._texts), with_payload=False, **query
            )
        )
        return [(int(point.id), point.score) for point in found.points]
