"""OpenSearch: a server that fuses BM25 and k-NN search in a search pipeline of its own."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities, Feature, Search
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.lucene import (
    SORTED,
    LuceneBm25Settings,
    make_body,
    match,
)
from assay.retrievers.engines.opensearch.client import (
    CAPABILITIES,
    OpenSearchClient,
    OpenSearchConnection,
)
from assay.retrievers.engines.opensearch.features import FAISS, WORDS
from assay.retrievers.engines.opensearch.fusion import SPACES, FusionSettings, RankFusion
from assay.retrievers.engines.opensearch.index import INDEX_NAME, OpenSearchIndexStore
from assay.retrievers.engines.opensearch.queries import KnnSettings, nearest, search
from assay.retrievers.engines.opensearch.server import OpenSearchServer, check_version
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan
from assay.retrievers.engines.servers.server_engine import OpenIndex, ServerEngine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

DEEPEST = 10_000

OpenedIndex: TypeAlias = OpenIndex[OpenSearchClient]


class OpenSearchSettings(OpenSearchConnection, StoreSettings):
    """OpenSearch, a server: BM25 and k-NN lists fused by a search pipeline."""

    language_key: ClassVar[str] = "bm25.analyzer"
    capabilities: ClassVar[Capabilities] = CAPABILITIES
    type: Literal["opensearch"] = "opensearch"
    index_name: str | None = Field(
        None,
        pattern=INDEX_NAME,
        description="alias of the index; else assay_ and 16 digits that stand for its content",
    )
    bm25: LuceneBm25Settings = Field(
        default_factory=LuceneBm25Settings, description="the engine's keyword index"
    )
    knn: KnnSettings = Field(default_factory=KnnSettings, description="the dense list")
    fusion: FusionSettings = Field(
        default_factory=RankFusion, description="how the search pipeline fuses"
    )

    @model_validator(mode="after")
    def _has_depth(self) -> "OpenSearchSettings":
        depth = self.depth
        if max(depth.dense, depth.keyword) > DEEPEST:
            raise ValueError(f"depth: OpenSearch allows {DEEPEST} candidates of a list at most")
        # pagination_depth cuts both lists; only the k of a graph search can be less than it.
        if self.knn.method == "exact" and depth.dense != depth.keyword:
            raise ValueError("depth: OpenSearch cuts both lists at one depth; make both the same")
        if depth.dense > depth.keyword:
            raise ValueError("depth: OpenSearch cuts no list deeper than the keyword list")
        return self

    @property
    def searches(self) -> tuple[Search, ...]:
        """What the engine can be asked for with these settings."""
        return ("keyword",) if self.knn.method == "none" else super().searches

    @property
    def features(self) -> list[Feature]:
        """What these settings ask of a server that not every one has."""
        if self.knn.method == "none":
            return [WORDS]
        faiss = (self.knn.method, self.knn.engine) == ("hnsw", "faiss")
        return [self.fusion.feature, *([FAISS] if faiss else [])]

    def build(self, resources: Resources) -> "OpenSearchEngine":
        """Return the engine, which has indexed nothing yet."""
        return OpenSearchEngine(self, resources)

    def server(self) -> OpenSearchServer:
        """Return the server, for its list of indexes."""
        return OpenSearchServer(OpenSearchClient(self))


class OpenSearchEngine(ServerEngine[OpenSearchSettings, OpenSearchClient]):
    """An index with the texts, their vectors and their positions as ids, behind an alias.

    The alias stands when the index is whole. A search pipeline goes with each hybrid query, so
    that none is left on the server. Lists break ties by position where search is exact.
    """

    @property
    def formula(self) -> Formula:
        """The fusion of the search pipeline."""
        return self._settings.fusion.make_formula(self._settings.knn.space)

    @property
    def _exact(self) -> bool:
        return self._settings.knn.method != "hnsw"

    def _shape(self) -> Sequence[Any]:
        knn = self._settings.knn
        graph = [] if self._exact else [knn.engine, knn.space, knn.m, knn.ef_construction]
        return [self._settings.bm25, knn.method, *graph]

    def _name(self, key: str) -> str:
        return self._settings.index_name or super()._name(key)

    def _connect(self) -> OpenSearchClient:
        return OpenSearchClient(self._settings)

    def _read_version(self, connection: OpenSearchClient) -> str:
        return check_version(connection, self._settings.features)

    def _open(
        self,
        connection: OpenSearchClient,
        plan: CollectionPlan,
        texts: Sequence[str],
        vectors: Vectors,
    ) -> Collection:
        knn = self._settings.knn
        field: dict[str, Any] = {"type": "knn_vector", "dimension": plan.dimensions}
        if not self._exact:
            field["method"] = {
                "name": "hnsw",
                "engine": knn.engine,
                "space_type": knn.space,
                "parameters": {"m": knn.m, "ef_construction": knn.ef_construction},
            }
        order = SORTED if self._exact else {"knn": True}
        fields = {} if knn.method == "none" else {"vector": field}
        body = make_body(self._settings.bm25, plan.texts, fields, order)
        documents = _make_documents(texts, vectors if fields else None)
        progress = self._resources.progress
        return OpenSearchIndexStore(connection, plan, body, documents, progress).open()

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, worked out from OpenSearch's scores."""
        knn = self._settings.knn
        # Graph search finds more of the nearest the more it is asked for.
        reach = min(max(limit, self.depth.dense), DEEPEST)
        body = {"track_total_hits": False, "query": nearest(knn, vector, reach, self._allowed)}
        to_cosine = SPACES[knn.space].to_cosine
        found = search(opened.connection, opened.name, min(limit, self._texts), body)
        return [(position, to_cosine(score)) for position, score in found]

    def _search_keyword(self, opened: OpenedIndex, text: str, limit: int) -> list[Scored]:
        body = {"track_total_hits": False, "query": match(text, self._allowed)}
        return search(opened.connection, opened.name, min(limit, self._texts), body)

    def _search_hybrid(
        self, opened: OpenedIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: how the server breaks ties is not documented."""
        depth = self.depth
        queries = [
            nearest(self._settings.knn, vector, depth.dense, self._allowed),
            match(text, self._allowed),
        ]
        hybrid = {"queries": queries, "pagination_depth": depth.keyword}
        processor = self._settings.fusion.make_processor()
        body = {
            "query": {"hybrid": hybrid},
            "search_pipeline": {"phase_results_processors": [processor]},
        }
        fused = search(opened.connection, opened.name, depth.dense + depth.keyword, body)
        if any(score < 0 for _, score in fused):
            raise AssayError(
                f"opensearch at {opened.connection.url}: the search pipeline was not run"
            )
        return [(position, score) for position, score in fused if score > 0]


def _make_documents(texts: Sequence[str], vectors: Vectors | None) -> Iterator[dict[str, Any]]:
    for position, text in enumerate(texts):
        own = {} if vectors is None else {"vector": vectors[position].tolist()}
        yield {"position": position, "text": text, **own}
