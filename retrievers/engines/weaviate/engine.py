"""Weaviate, a server: vector and BM25 lists fused by its hybrid search."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from retrievers.base import IndexReport
from retrievers.engines.base import Capabilities, Engine, StoreSettings, check_dimensions
from retrievers.engines.formulas import Formula, Head, ReciprocalRanks, RelativeScores
from retrievers.engines.recall import measure_recall
from retrievers.engines.servers import CollectionPlan, name_index
from retrievers.engines.weaviate.collection import (
    PROPERTY,
    open_collection,
    to_position,
)
from retrievers.engines.weaviate.connection import WeaviateConnection, WeaviateConnectionSettings
from retrievers.engines.weaviate.server import WeaviateServer
from retrievers.engines.weaviate.settings import WeaviateIndexSettings
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Workshop
from retrievers.store.digest import digest, digest_sources

LEAST_DEPTH = 100
DEEPEST = 10_000
RANK_CONSTANT = 60


class WeaviateSettings(WeaviateConnectionSettings, WeaviateIndexSettings, StoreSettings):
    """Weaviate, a server at WEAVIATE_URL: vector and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), server=True, extra="weaviate"
    )
    type: Literal["weaviate"] = "weaviate"
    fusion: Literal["ranked", "relative_score"] = Field(
        "ranked",
        description=(
            "ranked: sum of weight / (60 + rank), ranks from 0, which is k = 59 from 1; "
            "relative_score, Weaviate's own default: weighted sum of scores, each list's lowest "
            "scaled to 0 and its highest to 1"
        ),
    )
    alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="weight of the dense list, 1 - alpha that of BM25's; Weaviate's own is 0.7",
    )

    @model_validator(mode="after")
    def _can_reach(self) -> "WeaviateSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError("depth: Weaviate cuts both lists at one depth; make both the same")
        if not LEAST_DEPTH <= self.depth.dense <= DEEPEST:
            raise ValueError(
                f"depth: Weaviate takes {LEAST_DEPTH} candidates of a list at least, {DEEPEST} at "
                "most"
            )
        return self

    def build(self, workshop: Workshop) -> "WeaviateEngine":
        """Return the engine, which has indexed nothing yet."""
        return WeaviateEngine(self)

    def server(self) -> WeaviateServer:
        """Return the server, for its list of collections."""
        return WeaviateServer(WeaviateConnection(self))


class WeaviateEngine(Engine):
    """A collection of objects with a text, its vector, and its position in the identifier.

    Each list has as many candidates as the request's limit, and no fewer than the server's
    QUERY_HYBRID_MAXIMUM_RESULTS, which is 100 unless it was changed. The limit is therefore always
    the depth, and as many fused texts are returned at most.
    """

    def __init__(self, settings: WeaviateSettings) -> None:
        self.depth = settings.depth
        self._settings = settings
        self._connection: WeaviateConnection | None = None
        self._collection = ""
        self._texts = 0
        self._dimensions = 0
        self._facts: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the collection on the server, or make it there."""
        self.close()
        if not texts:
            return IndexReport(0)
        plan = self._plan(texts, vectors, identity)
        self._connection = WeaviateConnection(self._settings)
        self._texts, self._dimensions = plan.texts, plan.dimensions
        try:
            version = self._connection.read_version()
            opened = open_collection(self._connection, plan, self._settings, texts, vectors)
            self._collection = opened.collection
            self._facts = {"version": version, "index": plan.name}
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
        """Return the texts of greatest cosine, which is 1 - Weaviate's distance."""
        if self._connection is None:
            return []
        from weaviate.classes.query import MetadataQuery

        check_dimensions("weaviate", vector, self._dimensions)
        found = self._ask(
            lambda query: query.near_vector(
                vector.tolist(),
                limit=min(limit, self._texts),
                return_metadata=MetadataQuery(distance=True),
                return_properties=False,
            )
        )
        return [(to_position(each.uuid), 1.0 - each.metadata.distance) for each in found]

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score that have one of the terms."""
        if self._connection is None:
            return []
        from weaviate.classes.query import BM25Operator, MetadataQuery

        found = self._ask(
            lambda query: query.bm25(
                text,
                query_properties=[PROPERTY],
                operator=BM25Operator.or_(minimum_match=1),
                limit=min(limit, self._texts),
                return_metadata=MetadataQuery(score=True),
                return_properties=False,
            )
        )
        return [(to_position(each.uuid), each.metadata.score) for each in found]

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts, at most as many as a list is deep."""
        if self._connection is None:
            return []
        from weaviate.classes.query import BM25Operator, HybridFusion, MetadataQuery

        check_dimensions("weaviate", vector, self._dimensions)
        settings = self._settings
        ranked = settings.fusion == "ranked"
        found = self._ask(
            lambda query: query.hybrid(
                text,
                vector=vector.tolist(),
                alpha=settings.alpha,
                fusion_type=HybridFusion.RANKED if ranked else HybridFusion.RELATIVE_SCORE,
                query_properties=[PROPERTY],
                bm25_operator=BM25Operator.or_(minimum_match=1),
                limit=self.depth.dense,
                return_metadata=MetadataQuery(score=True),
                return_properties=False,
            )
        )
        return ordered((to_position(each.uuid), each.metadata.score) for each in found)[:limit]

    @property
    def formula(self) -> Formula:
        """The fusion as Weaviate's source has it (usecases/traverser/hybrid)."""
        weights = (self._settings.alpha, 1 - self._settings.alpha)
        whole: Formula = RelativeScores(weights)
        if self._settings.fusion == "ranked":
            whole = ReciprocalRanks(k=RANK_CONSTANT, first=0, weights=weights, single=True)
        return Head(whole, self.depth.dense)

    def facts(self) -> Mapping[str, Any]:
        """Return also the name of the index."""
        return {
            "engine": "weaviate",
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
        edges = [settings.max_connections, settings.ef_construction, settings.ef]
        graph = [] if settings.exact else edges
        sources = digest_sources(here, here.with_name("collection.py"))
        key = digest(sources, settings.bm25, graph, identity, texts)
        return CollectionPlan(name_index(key), key, identity, len(texts), vectors.shape[1])

    def _ask(self, action: Callable[[Any], Any]) -> list[Any]:
        """Return the objects that a query finds."""
        if self._connection is None:
            return []
        found: list[Any] = self._connection.ask(
            lambda client: action(client.collections.use(self._collection).query).objects
        )
        return found
