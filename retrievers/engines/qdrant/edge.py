"""Qdrant Edge: Qdrant's search in this process, without a server."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from retrievers.base import IndexReport
from retrievers.engines.base import Capabilities, Engine, check_dimensions
from retrievers.engines.copies import OwnFolder, allocated
from retrievers.engines.formulas import Formula
from retrievers.engines.qdrant.settings import QdrantStoreSettings
from retrievers.engines.qdrant.shard import build_shard, copy_shard, make_config, make_embedder
from retrievers.engines.recall import measure_recall
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    import qdrant_edge


class QdrantEdgeSettings(QdrantStoreSettings):
    """Qdrant Edge, in this process: dense and BM25 lists fused inside the engine."""

    capabilities: ClassVar[Capabilities] = Capabilities("engine", approximate=("hnsw",))
    type: Literal["qdrant-edge"] = "qdrant-edge"

    def build(self, workshop: Workshop) -> "QdrantEdgeEngine":
        """Return the engine, which has indexed nothing yet."""
        return QdrantEdgeEngine(self, workshop)


class QdrantEdgeEngine(Engine):
    """A shard of points that have a text's position as id, its vector and its BM25 terms.

    The cache holds the shard as it was built. A shard may be open in one process only, so each
    process works on a copy of its own.
    """

    def __init__(self, settings: QdrantEdgeSettings, workshop: Workshop) -> None:
        self.depth = settings.depth
        self._settings = settings
        self._workshop = workshop
        self._embedder = make_embedder(settings.bm25)
        self._shard: qdrant_edge.EdgeShard | None = None
        self._dimensions = 0
        self._copy: OwnFolder | None = None
        self._measured: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Build the shard, or find it in the cache, and open a copy of it."""
        import qdrant_edge as q

        self.close()
        if not texts:
            return IndexReport(0)
        folder = self._workshop.cache.folder(
            "qdrant-edge",
            self._key(texts, identity),
            lambda path: self._make(path, texts, vectors),
        )
        self._copy = OwnFolder("qdrant-edge")
        path = copy_shard(folder.path / "shard", self._copy.path)
        config = make_config(vectors.shape[1], self._settings, self._workshop.threads)
        self._shard = q.EdgeShard.load(str(path), config)
        self._dimensions = vectors.shape[1]
        self._measured = json.loads((folder.path / "facts.json").read_text())
        if not self._settings.exact:
            self._measured["recall_against_exact"] = measure_recall(self.dense, vectors)
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": folder.seconds},
            bytes=allocated(folder.path),
            cached=("engine",) if folder.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; the order of equal ones is the engine's."""
        import qdrant_edge as q

        if self._shard is not None:
            check_dimensions("qdrant-edge", vector, self._dimensions)
        query = q.Query.Nearest(vector.tolist(), using="dense")
        params = self._search_params()
        return self._ask(q.QueryRequest(limit=limit, query=query, params=params))

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score; the order of equal ones is the engine's."""
        import qdrant_edge as q

        return self._ask(q.QueryRequest(limit=limit, query=self._keyword_query(text)))

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts.

        The engine breaks ties at random, so it is asked for all that it fused, and cut here.
        """
        import qdrant_edge as q

        depth = self._settings.depth
        fused = self._ask(
            q.QueryRequest(
                limit=depth.dense + depth.keyword,
                prefetches=[
                    q.Prefetch(
                        limit=depth.dense,
                        query=q.Query.Nearest(vector.tolist(), using="dense"),
                        params=self._search_params(),
                    ),
                    q.Prefetch(limit=depth.keyword, query=self._keyword_query(text)),
                ],
                query=self._fusion(),
            )
        )
        if self._settings.fusion == "rrf":  # a list of weight 0 leaves its texts with score 0
            fused = [(position, score) for position, score in fused if score > 0]
        return ordered(fused)[:limit]

    @property
    def formula(self) -> Formula:
        """The engine's fusion."""
        return self._settings.make_formula()

    def facts(self) -> Mapping[str, Any]:
        """Return also `average_terms`, the mean length of a text in the engine's terms."""
        return {
            "engine": "qdrant-edge",
            "version": version("qdrant-edge-py"),
            "exact": self._settings.exact,
            **self._measured,
        }

    def close(self) -> None:
        """Close the shard and remove its copy."""
        if self._shard is not None:
            self._shard.close()
        if self._copy is not None:
            self._copy.close()
        self._shard, self._copy, self._measured = None, None, {}

    def _key(self, texts: Sequence[str], identity: str) -> str:
        settings, here = self._settings, Path(__file__)
        graph = [] if settings.exact else [settings.m, settings.ef_construct]
        return digest(
            digest_sources(here, here.with_name("shard.py")),
            version("qdrant-edge-py"),
            settings.bm25,
            graph,
            identity,
            texts,
        )

    def _make(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the shard and what was measured of it into `folder`."""
        built = build_shard(
            folder / "shard", texts, vectors, self._settings, self._workshop.threads
        )
        built.shard.close()
        measured = {"average_terms": round(built.average_terms, 2)}
        (folder / "facts.json").write_text(json.dumps(measured))

    def _fusion(self) -> Any:
        import qdrant_edge as q

        if self._settings.fusion == "dbsf":
            return q.Fusion.Dbsf()
        weights = self._settings.weights
        return q.Fusion.Rrf(k=self._settings.k, weights=[weights.dense, weights.keyword])

    def _keyword_query(self, text: str) -> "qdrant_edge.Query":
        import qdrant_edge as q

        return q.Query.Nearest(self._embedder.embed_query(text), using="keyword")

    def _search_params(self) -> "qdrant_edge.SearchParams":
        import qdrant_edge as q

        exact = self._settings.exact
        return q.SearchParams(exact=exact, hnsw_ef=None if exact else self._settings.ef)

    def _ask(self, request: "qdrant_edge.QueryRequest") -> list[Scored]:
        if self._shard is None:
            return []
        return [(int(point.id), point.score) for point in self._shard.query(request)]
