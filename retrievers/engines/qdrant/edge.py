"""Qdrant Edge: Qdrant's search in this process, without a server."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.declarative import StatedAdapter
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.qdrant.settings import QdrantStoreSettings
from assay.retrievers.engines.qdrant.shard import (
    build_shard,
    copy_shard,
    make_config,
    make_embedder,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import qdrant_edge


SHARD = "shard"
FACTS = "facts.json"


class QdrantEdgeSettings(QdrantStoreSettings):
    """Qdrant Edge, in this process: dense and BM25 lists fused inside the engine."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), packages=("qdrant-edge-py",), restricts=True
    )
    type: Literal["qdrant-edge"] = "qdrant-edge"

    def build(self, resources: Resources) -> "QdrantEdgeEngine":
        """Return the engine, which has indexed nothing yet."""
        return QdrantEdgeEngine(self, resources)


class OpenIndex(NamedTuple):
    """An open shard, and the folder of this process in which it lies."""

    shard: "qdrant_edge.EdgeShard"
    copy: OwnFolder


class QdrantEdgeEngine(
    StatedAdapter[QdrantEdgeSettings, OpenIndex],
    EmbeddedEngine[QdrantEdgeSettings, OpenIndex],
):
    """A shard of points that have a text's position as id, its vector and its BM25 terms.

    A shard may be open in one process only, so each process works on a copy of its own.
    """

    def __init__(self, settings: QdrantEdgeSettings, resources: Resources) -> None:
        super().__init__(settings, resources)
        self._embedder = make_embedder(settings.bm25)

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the shard, and beside it the mean length of a text in the engine's terms."""
        positions, threads = self._track(len(texts)), self._resources.threads
        built = build_shard(folder / SHARD, positions, texts, vectors, self._settings, threads)
        built.shard.close()
        measured = {"average_terms": round(built.average_terms, 2)}
        (folder / FACTS).write_text(json.dumps(measured))

    def _open(self, folder: Path) -> OpenIndex:
        """Open a copy of the shard."""
        import qdrant_edge as q

        config = make_config(self._dimensions, self._settings, self._resources.threads)
        copy = OwnFolder("qdrant-edge")
        try:
            shard = q.EdgeShard.load(str(copy_shard(folder / SHARD, copy.path)), config)
            self._facts |= json.loads((folder / FACTS).read_text())
        except BaseException:
            copy.close()
            raise
        return OpenIndex(shard, copy)

    def _release(self, opened: OpenIndex) -> None:
        opened.shard.close()
        opened.copy.close()

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        import qdrant_edge as q

        query = q.Query.Nearest(vector.tolist(), using="dense")
        request = q.QueryRequest(
            limit=limit, query=query, params=self._search_params(), filter=self._filter()
        )
        return _ask(opened, request)

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        import qdrant_edge as q

        query = self._keyword_query(text)
        return _ask(opened, q.QueryRequest(limit=limit, query=query, filter=self._filter()))

    def _search_hybrid(
        self, opened: OpenIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: the engine breaks ties at random."""
        import qdrant_edge as q

        depth = self.depth
        request = q.QueryRequest(
            limit=depth.dense + depth.keyword,
            prefetches=[
                q.Prefetch(
                    limit=depth.dense,
                    query=q.Query.Nearest(vector.tolist(), using="dense"),
                    params=self._search_params(),
                    filter=self._filter(),
                ),
                q.Prefetch(
                    limit=depth.keyword, query=self._keyword_query(text), filter=self._filter()
                ),
            ],
            query=self._fusion(),
        )
        return _ask(opened, request)

    def _fusion(self) -> Any:
        import qdrant_edge as q

        if self._settings.fusion == "dbsf":
            return q.Fusion.Dbsf()
        weights = self._settings.weights
        return q.Fusion.Rrf(k=self._settings.k, weights=[weights.dense, weights.keyword])

    def _filter(self) -> "qdrant_edge.Filter | None":
        """Return what is met by the texts that may be found; None where all may be."""
        import qdrant_edge as q

        if (listed := self._list_fewer()) is None:
            return None
        condition = q.HasIdCondition(set(listed.positions))
        return q.Filter(must_not=[condition]) if listed.others else q.Filter(must=[condition])

    def _keyword_query(self, text: str) -> "qdrant_edge.Query":
        import qdrant_edge as q

        return q.Query.Nearest(self._embedder.embed_query(text), using="keyword")

    def _search_params(self) -> "qdrant_edge.SearchParams":
        import qdrant_edge as q

        exact = self._settings.exact
        return q.SearchParams(exact=exact, hnsw_ef=None if exact else self._settings.ef)


def _ask(opened: OpenIndex, request: "qdrant_edge.QueryRequest") -> list[Scored]:
    return [(int(point.id), point.score) for point in opened.shard.query(request)]
