"""Elasticsearch, a server: BM25 and k-NN lists fused by its retrievers."""

import os
from typing import Any, ClassVar, Literal, TypeAlias

from assay.retrievers.engines import lucene
from assay.retrievers.engines.capabilities import Capabilities, LackError
from assay.retrievers.engines.elasticsearch.collection import ElasticsearchStore
from assay.retrievers.engines.elasticsearch.connection import ADDRESS, ElasticsearchConnection
from assay.retrievers.engines.elasticsearch.features import FEATURES
from assay.retrievers.engines.elasticsearch.settings import DEEPEST, ElasticsearchIndexSettings
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import StatedEngine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

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
            raise LackError(f"{self.name} at {connection.url}: {lack}")
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

    def _open_bare(self, opened: OpenedIndex) -> BareClient:
        """Return the client as the vendor's first page makes it."""
        from elasticsearch import Elasticsearch

        options: dict[str, Any] = {}
        if key := os.environ.get(ElasticsearchConnection.key):
            options["api_key"] = key
        if self._settings.ca_certs:
            options["ca_certs"] = self._settings.ca_certs
        client = Elasticsearch(opened.connection.url, **options)

        def ready(limit: int, **body: Any) -> Request:
            return lambda: [
                (hit["_id"], hit["_score"])
                for hit in client.search(
                    index=opened.name, size=min(limit, self._texts), source=False, **body
                )["hits"]["hits"]
            ]

        def dense(vector: Vectors, limit: int) -> Request:
            most = min(limit, DEEPEST, self._texts)
            return ready(most, retriever={"knn": self._near(vector, most)})

        return BareClient(
            dense, lambda text, limit: ready(limit, query=lucene.match(text)), client.close
        )

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
