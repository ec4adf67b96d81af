"""Elasticsearch, a server: BM25 and k-NN lists fused by its retrievers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Literal, TypeAlias

from assay.retrievers.base import AssayError
from assay.retrievers.engines import lucene
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.elasticsearch.connection import (
    ADDRESS,
    NOTE,
    ElasticsearchConnection,
    IncompleteError,
)
from assay.retrievers.engines.elasticsearch.settings import (
    DEEPEST,
    FEATURES,
    ElasticsearchIndexSettings,
)
from assay.retrievers.engines.lucene import SORTED, make_body
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import StatedEngine, TakenError
from assay.retrievers.engines.servers.service_collections import (
    INDEXING_SECONDS,
    ServiceStore,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

TEXTS_PER_REQUEST = 500
BYTES_PER_REQUEST = 5_000_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25


class ElasticsearchStore(ServiceStore[ElasticsearchConnection, ElasticsearchIndexSettings]):
    """An index of one document a text, its position as id, in the order of positions."""

    def create(self, name: str, note: str) -> None:
        """Make the index."""
        settings = self._settings
        graph = {"type": "hnsw", "m": settings.m, "ef_construction": settings.ef_construction}
        vector = {
            "type": "dense_vector",
            "dims": self.plan.dimensions,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": "flat"} if settings.exact else graph,
        }
        body = make_body(settings.bm25, self.plan.texts, {"vector": vector}, SORTED)
        mappings = {**body["mappings"], "_meta": {NOTE: note}}
        with suppress(TakenError):  # by a try of this process whose answer was lost
            self.connection.call(
                "indices.create", index=name, settings=body["settings"], mappings=mappings
            )

    def upload(self, name: str) -> None:
        """Put the documents into it, and merge them into one segment."""
        call, texts = self.connection.call, self._texts
        width = self.plan.dimensions * BYTES_PER_NUMBER
        for chosen in batch(
            self.track(range(len(texts))),
            TEXTS_PER_REQUEST,
            lambda i: width + 6 * len(texts[i]),
            BYTES_PER_REQUEST,
        ):
            operations: list[Mapping[str, Any]] = []
            for i in chosen:
                vector = self._vectors[i].tolist()
                operations.append({"index": {"_id": str(i)}})
                operations.append({"position": i, "text": texts[i], "vector": vector})
            call("bulk", check=_check_items, index=name, operations=operations)
        call("indices.refresh", index=name)
        call("indices.forcemerge", seconds=INDEXING_SECONDS, index=name, max_num_segments=1)
        call("indices.refresh", index=name)


def _check_items(answer: Mapping[str, Any]) -> None:
    """Raise where a document was not indexed; it is sent again with the others."""
    if answer.get("errors"):
        failed = [
            result["error"]
            for item in answer["items"]
            for result in item.values()
            if "error" in result
        ]
        reason = f"{failed[0].get('type')}: {failed[0].get('reason')}"
        raise IncompleteError(f"{len(failed)} texts are not stored: {reason}")


OpenedIndex: TypeAlias = OpenIndex[ElasticsearchConnection]


class ElasticsearchSettings(ElasticsearchIndexSettings):
    """Elasticsearch, a server at ELASTICSEARCH_URL: BM25 and k-NN lists fused by a retriever."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="elasticsearch",
        modules=("elasticsearch",),
        packages=("elasticsearch",),
        address=ADDRESS,
        features=FEATURES,
        met="8.19.21, no fusion",
        restricts=True,
    )
    type: Literal["elasticsearch"] = "elasticsearch"

    def build(self, resources: Resources) -> "ElasticsearchEngine":
        """Return the engine, which has indexed nothing yet."""
        return ElasticsearchEngine(self, resources)

    def connect(self) -> ElasticsearchConnection:
        """Return connections to the server."""
        return ElasticsearchConnection(self)


class ElasticsearchEngine(StatedEngine[ElasticsearchSettings, ElasticsearchConnection]):
    """An index with the texts, their vectors and their positions as ids.

    Lists break ties by position where search is exact: the index is sorted so.
    """

    store = ElasticsearchStore

    def _read_version(self, connection: ElasticsearchConnection) -> str:
        lacks = (feature.find_lack(connection.version) for feature in self._settings.features)
        if lack := next(filter(None, lacks), ""):
            raise AssayError(f"{self.name} at {connection.url}: {lack}")
        return connection.version

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, of which the score is (1 + cosine) / 2."""
        limit = min(limit, DEEPEST, self._texts)
        found = self._ask(opened, limit, retriever={"knn": self._near(vector, limit)})
        return [(position, 2 * score - 1) for position, score in found]

    def _search_keyword(self, opened: OpenedIndex, text: str, limit: int) -> list[Scored]:
        return self._ask(opened, min(limit, self._texts), query=lucene.match(text, self._allowed))

    def _search_hybrid(
        self, opened: OpenedIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts, at most as many as a list is deep."""
        settings, depth = self._settings, self.depth.dense
        retrievers: list[dict[str, Any]] = [
            {"knn": self._near(vector, depth)},
            {"standard": {"query": lucene.match(text, self._allowed)}},
        ]
        fusion: dict[str, Any] = {"rank_window_size": depth, "retrievers": retrievers}
        if settings.fusion == "rrf":
            fusion["rank_constant"] = settings.k
        else:
            weights = (settings.weights.dense, settings.weights.keyword)
            fusion["retrievers"] = [
                {"retriever": retriever, "weight": weight, "normalizer": "minmax"}
                for retriever, weight in zip(retrievers, weights, strict=True)
            ]
        return self._ask(opened, depth, retriever={settings.fusion: fusion})

    def _near(self, vector: Vectors, limit: int) -> dict[str, Any]:
        most = limit if self._exact else max(limit, self._settings.candidates)
        filtered = {} if self._allowed is None else {"filter": lucene.list_ids(self._allowed)}
        return {
            "field": "vector",
            "query_vector": vector.tolist(),
            "k": limit,
            "num_candidates": most,
            **filtered,
        }

    def _ask(self, opened: OpenedIndex, size: int, **body: Any) -> list[Scored]:
        """Return (position, score) as the server lists them; a part of the shards is no answer."""
        answer = opened.connection.call(
            "search",
            index=opened.name,
            size=size,
            source=False,
            allow_partial_search_results=False,
            **body,
        )
        return opened.connection.ask(
            lambda: [(int(hit["_id"]), float(hit["_score"])) for hit in answer["hits"]["hits"]]
        )
