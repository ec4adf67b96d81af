"""OpenSearch: a server that fuses BM25 and k-NN search in a search pipeline of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from retrievers.base import AssayError, IndexReport
from retrievers.engines.base import Capabilities, Engine, StoreSettings, check_dimensions
from retrievers.engines.formulas import Formula
from retrievers.engines.opensearch.client import OpenSearchClient, OpenSearchConnection
from retrievers.engines.opensearch.fusion import SPACES, FusionSettings, RankFusion
from retrievers.engines.opensearch.index import (
    INDEX_NAME,
    SORTED,
    IndexPlan,
    OpenSearchBm25Settings,
    make_body,
    open_index,
)
from retrievers.engines.opensearch.queries import KnnSettings, match, nearest, search
from retrievers.engines.opensearch.server import OpenSearchServer
from retrievers.engines.recall import measure_recall
from retrievers.engines.servers import name_index
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Workshop
from retrievers.store.digest import digest, digest_sources

DEEPEST = 10_000


class OpenSearchSettings(OpenSearchConnection, StoreSettings):
    """OpenSearch, a server: BM25 and k-NN lists fused by a search pipeline."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), server=True, extra="opensearch"
    )
    type: Literal["opensearch"] = "opensearch"
    index_name: str | None = Field(
        None,
        pattern=INDEX_NAME,
        description="alias of the index; else assay_ and 16 digits that stand for its content",
    )
    bm25: OpenSearchBm25Settings = Field(
        default_factory=OpenSearchBm25Settings, description="the engine's keyword index"
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

    def build(self, workshop: Workshop) -> "OpenSearchEngine":
        """Return the engine, which has indexed nothing yet."""
        return OpenSearchEngine(self)

    def server(self) -> OpenSearchServer:
        """Return the server, for its list of indexes."""
        return OpenSearchServer(OpenSearchClient(self))


class OpenSearchEngine(Engine):
    """An index with the texts, their vectors and their positions as ids, behind an alias.

    The alias stands when the index is whole. A search pipeline goes with each hybrid query, so
    that none is left on the server. Lists break ties by position where search is exact.
    """

    def __init__(self, settings: OpenSearchSettings) -> None:
        self.depth = settings.depth
        self._settings = settings
        self._client: OpenSearchClient | None = None
        self._name = ""
        self._texts = 0
        self._dimensions = 0
        self._facts: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the index on the server, or make it there."""
        self.close()
        if not texts:
            return IndexReport(0)
        plan = self._plan(texts, vectors, identity)
        client = OpenSearchClient(self._settings)
        try:
            version = check_version(client, *self._settings.fusion.needs)
            opened = open_index(client, plan, _make_documents(texts, vectors))
        except BaseException:
            client.close()
            raise
        self._client, self._name = client, plan.name
        self._texts, self._dimensions = len(texts), plan.dimensions
        self._facts = {"version": version, "index": plan.name}
        if self._settings.knn.method == "hnsw":
            self._facts["recall_against_exact"] = measure_recall(self.dense, vectors)
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": opened.seconds},
            bytes=opened.bytes,
            cached=("engine",) if opened.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, worked out from OpenSearch's scores."""
        if self._client is None:
            return []
        check_dimensions("opensearch", vector, self._dimensions)
        knn = self._settings.knn
        # Graph search finds more of the nearest the more it is asked for.
        reach = min(max(limit, self.depth.dense), DEEPEST)
        body = {"track_total_hits": False, "query": nearest(knn, vector, reach)}
        to_cosine = SPACES[knn.space].to_cosine
        found = search(self._client, self._name, min(limit, self._texts), body)
        return [(position, to_cosine(score)) for position, score in found]

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score."""
        if self._client is None:
            return []
        body = {"track_total_hits": False, "query": match(text)}
        return search(self._client, self._name, min(limit, self._texts), body)

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts.

        How the server breaks ties is not documented: it is asked for all that it fused. A list of
        weight 0 leaves its texts with the score 0.
        """
        if self._client is None:
            return []
        check_dimensions("opensearch", vector, self._dimensions)
        depth = self.depth
        queries = [nearest(self._settings.knn, vector, depth.dense), match(text)]
        hybrid = {"queries": queries, "pagination_depth": depth.keyword}
        processor = self._settings.fusion.make_processor()
        body = {
            "query": {"hybrid": hybrid},
            "search_pipeline": {"phase_results_processors": [processor]},
        }
        fused = search(self._client, self._name, depth.dense + depth.keyword, body)
        if any(score < 0 for _, score in fused):
            raise AssayError(f"opensearch at {self._client.url}: the search pipeline was not run")
        return ordered((position, score) for position, score in fused if score > 0)[:limit]

    @property
    def formula(self) -> Formula:
        """The fusion of the search pipeline."""
        return self._settings.fusion.make_formula(self._settings.knn.space)

    def facts(self) -> Mapping[str, Any]:
        """Return also the name of the index on the server."""
        exact = self._settings.knn.method == "exact"
        return {"engine": "opensearch", "version": "", "exact": exact, **self._facts}

    def close(self) -> None:
        """Close the connections; the index stays on the server."""
        if self._client is not None:
            self._client.close()
        self._client, self._facts = None, {}

    def _plan(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexPlan:
        settings, here = self._settings, Path(__file__)
        knn = settings.knn
        exact = knn.method == "exact"
        graph = [] if exact else [knn.engine, knn.space, knn.m, knn.ef_construction]
        sources = digest_sources(here, here.with_name("index.py"))
        key = digest(sources, settings.bm25, graph, identity, texts)
        dimensions = vectors.shape[1]
        field: dict[str, Any] = {"type": "knn_vector", "dimension": dimensions}
        if not exact:
            field["method"] = {
                "name": "hnsw",
                "engine": knn.engine,
                "space_type": knn.space,
                "parameters": {"m": knn.m, "ef_construction": knn.ef_construction},
            }
        body = make_body(
            settings.bm25, len(texts), {"vector": field}, SORTED if exact else {"knn": True}
        )
        name = settings.index_name or name_index(key)
        return IndexPlan(name, key, len(texts), identity, dimensions, body)


def check_version(client: OpenSearchClient, least: tuple[int, int], what: str) -> str:
    """Return the server's version. Raises AssayError where it is older or no OpenSearch."""
    told = client.pick(client.ask("info"), "version")
    number = str(client.pick(told, "number"))
    if not isinstance(told, dict) or told.get("distribution") != "opensearch":
        raise AssayError(
            f"opensearch at {client.url}: is no OpenSearch; it tells the version {number} of "
            f"{told.get('distribution') or 'another server'}"
        )
    parts = [int(part) for part in re.findall(r"\d+", number)[:2]]
    if tuple(parts) < least:
        raise AssayError(
            f"opensearch at {client.url}: {number} is too old: {what} needs "
            f"{least[0]}.{least[1]} or later"
        )
    return number


def _make_documents(texts: Sequence[str], vectors: Vectors) -> Iterator[dict[str, Any]]:
    for position, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        yield {"position": position, "text": text, "vector": vector.tolist()}
