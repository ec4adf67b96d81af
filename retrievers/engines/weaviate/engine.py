"""Weaviate, a server: vector and BM25 lists fused by its hybrid search."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.engines.base import Engine, StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, Head, ReciprocalRanks, ScaledScores
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan
from assay.retrievers.engines.servers.server_engine import OpenIndex, ServerEngine
from assay.retrievers.engines.servers.service_collections import ServiceServer
from assay.retrievers.engines.weaviate.collection import (
    PROPERTY,
    WeaviateCollectionStore,
    WeaviateIndexSettings,
    to_id,
    to_position,
)
from assay.retrievers.engines.weaviate.connection import (
    CAPABILITIES,
    FILTERS,
    WeaviateConnection,
    WeaviateConnectionSettings,
)
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

LEAST_DEPTH = 100
DEEPEST = 10_000  # QUERY_MAXIMUM_RESULTS, unless it was changed
RANK_CONSTANT = 60

OpenedCollection: TypeAlias = OpenIndex[WeaviateConnection]


class WeaviateSettings(WeaviateConnectionSettings, WeaviateIndexSettings, StoreSettings):
    """Weaviate, a server at WEAVIATE_URL: vector and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = CAPABILITIES
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

    def build(self, resources: Resources) -> "WeaviateEngine":
        """Return the engine, which has indexed nothing yet."""
        return WeaviateEngine(self, resources)

    def server(self) -> ServiceServer:
        """Return the server, for its list of collections."""
        return ServiceServer(WeaviateConnection(self))


class WeaviateEngine(ServerEngine[WeaviateSettings, WeaviateConnection]):
    """A collection of objects with a text, its vector, and its position in the identifier.

    Each list has as many candidates as the request's limit, and no fewer than the server's
    QUERY_HYBRID_MAXIMUM_RESULTS, which is 100 unless it was changed. The limit is therefore always
    the depth, and as many fused texts are returned at most.
    """

    _most_listed = 20_000

    def restrict(self, allowed: Positions) -> Engine | None:
        """Return the same for some of the texts, where the server can leave out others."""
        version = self._facts.get("version", "")
        return None if FILTERS.find_lack(version) else super().restrict(allowed)

    @property
    def formula(self) -> Formula:
        """The fusion as Weaviate's source has it (usecases/traverser/hybrid)."""
        weights = (self._settings.alpha, 1 - self._settings.alpha)
        whole: Formula = ScaledScores(weights)
        if self._settings.fusion == "ranked":
            whole = ReciprocalRanks(k=RANK_CONSTANT, first=0, weights=weights, single=True)
        return Head(whole, self.depth.dense)

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        settings = self._settings
        graph = [settings.max_connections, settings.ef_construction, settings.ef]
        return [settings.bm25, *([] if settings.exact else graph)]

    def _connect(self) -> WeaviateConnection:
        return WeaviateConnection(self._settings)

    def _read_version(self, connection: WeaviateConnection) -> str:
        return connection.read_version()

    def _open(
        self,
        connection: WeaviateConnection,
        plan: CollectionPlan,
        texts: Sequence[str],
        vectors: Vectors,
    ) -> Collection:
        return WeaviateCollectionStore(
            connection, plan, self._settings, texts, vectors, self._resources.progress
        ).open()

    def _search_dense(self, opened: OpenedCollection, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, which is 1 - Weaviate's distance."""
        from weaviate.classes.query import MetadataQuery

        found = _ask(
            opened,
            lambda query: query.near_vector(
                vector.tolist(),
                limit=min(limit, self._texts, DEEPEST),
                filters=self._filter(),
                return_metadata=MetadataQuery(distance=True),
                return_properties=False,
            ),
        )
        return [(to_position(each.uuid), 1.0 - each.metadata.distance) for each in found]

    def _search_keyword(self, opened: OpenedCollection, text: str, limit: int) -> list[Scored]:
        from weaviate.classes.query import BM25Operator, MetadataQuery

        found = _ask(
            opened,
            lambda query: query.bm25(
                text,
                query_properties=[PROPERTY],
                operator=BM25Operator.or_(minimum_match=1),
                limit=min(limit, self._texts, DEEPEST),
                filters=self._filter(),
                return_metadata=MetadataQuery(score=True),
                return_properties=False,
            ),
        )
        return [(to_position(each.uuid), each.metadata.score) for each in found]

    def _search_hybrid(
        self, opened: OpenedCollection, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts, at most as many as a list is deep."""
        from weaviate.classes.query import BM25Operator, HybridFusion, MetadataQuery

        settings = self._settings
        ranked = settings.fusion == "ranked"
        found = _ask(
            opened,
            lambda query: query.hybrid(
                text,
                vector=vector.tolist(),
                alpha=settings.alpha,
                fusion_type=HybridFusion.RANKED if ranked else HybridFusion.RELATIVE_SCORE,
                query_properties=[PROPERTY],
                bm25_operator=BM25Operator.or_(minimum_match=1),
                limit=self.depth.dense,
                filters=self._filter(),
                return_metadata=MetadataQuery(score=True),
                return_properties=False,
            ),
        )
        return [(to_position(each.uuid), each.metadata.score) for each in found]

    def _filter(self) -> Any:
        """Return what is met by the texts that may be found; None where all may be."""
        from weaviate.classes.query import Filter

        if (listed := self._list_fewer()) is None:
            return None
        by_id, ids = Filter.by_id(), list(map(to_id, listed.positions))
        return by_id.contains_none(ids) if listed.others else by_id.contains_any(ids)


def _ask(opened: OpenedCollection, action: Callable[[Any], Any]) -> list[Any]:
    """Return the objects that a query finds."""
    found: list[Any] = opened.connection.ask(
        lambda client: action(client.collections.use(opened.name).query).objects
    )
    return found
