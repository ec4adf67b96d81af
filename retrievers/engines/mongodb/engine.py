"""MongoDB Atlas, a service: vector and text search fused by $rankFusion or $scoreFusion."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.mongodb.connection import (
    ADDRESS,
    DEEPEST,
    VECTORS,
    WORDS,
    MongoConnection,
)
from assay.retrievers.engines.mongodb.formula import AveragedScores, Normalisation, SharedRanks
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings


class MongoIndexSettings(Settings):
    """What the indexes of a collection are made with."""

    analyzer: str = Field(
        "lucene.english",
        pattern=r"[\w.]+",
        description=(
            "the analyzer by its name in Atlas: lucene.english stems and drops stop words, "
            "lucene.standard does neither; BM25 has Lucene's k1 = 1.2 and b = 0.75"
        ),
    )


DOCUMENTS_PER_REQUEST = 1000
BYTES_PER_REQUEST = 16_000_000
BYTES_PER_DOCUMENT = 100
BYTES_PER_NUMBER = 16  # of BSON: its type, its place in the list, and 8 of its own


class MongoStore(ServiceStore[MongoConnection, MongoIndexSettings]):
    """A collection of one document a text, its position as `_id`."""

    def create(self, name: str, note: str) -> None:
        """Note the collection, make its indexes, and wait until they can be asked."""
        self.connection.write_note(name, note)
        collection = self.connection.open_collection(name)
        self.connection.make(
            lambda: collection.database.create_collection(name, check_exists=False)
        )
        self.connection.make(lambda: collection.create_search_indexes(self._describe()))

        def is_ready() -> bool:
            states = {each["name"]: each["queryable"] for each in collection.list_search_indexes()}
            return states == {VECTORS: True, WORDS: True}

        self.wait(name, lambda: self.connection.ask(is_ready))

    def upload(self, name: str) -> None:
        """Put the documents into it, again where a request may have been lost half-way."""
        from pymongo import ReplaceOne

        collection = self.connection.open_collection(name)
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_DOCUMENT

        def measure(position: int) -> int:
            return width + len(self._texts[position].encode())

        positions = self.track(range(len(self._texts)))
        for chosen in batch(positions, DOCUMENTS_PER_REQUEST, measure, BYTES_PER_REQUEST):
            writes = [ReplaceOne({"_id": i}, self._make(i), upsert=True) for i in chosen]
            self.connection.ask(partial(collection.bulk_write, writes, ordered=False))

    def _make(self, position: int) -> dict[str, Any]:
        return {
            "_id": position,
            "position": position,
            "text": self._texts[position],
            "vector": self._vectors[position].tolist(),
        }

    def _describe(self) -> list[Any]:
        """Return what the indexes are made with."""
        from pymongo.operations import SearchIndexModel

        vector = {
            "type": "vector",
            "path": "vector",
            "numDimensions": self.plan.dimensions,
            "similarity": "cosine",
        }
        fields = {
            "text": {"type": "string", "analyzer": self._settings.analyzer},
            "position": {"type": "number"},
        }
        words = {"mappings": {"dynamic": False, "fields": fields}}
        return [
            SearchIndexModel({"fields": [vector]}, name=VECTORS, type="vectorSearch"),
            SearchIndexModel(words, name=WORDS, type="search"),
        ]


RANK_CONSTANT = 60
FUSIONS = {
    "rank": Feature("$rankFusion", (8, 0)),
    "score": Feature("$scoreFusion", (8, 2)),
}

OpenedCollection: TypeAlias = OpenIndex[MongoConnection]


class MongoSettings(MongoIndexSettings, ServiceSettings):
    """MongoDB Atlas, a service at MONGODB_URL: vector and text lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="mongodb",
        modules=("pymongo",),
        packages=("pymongo",),
        address=ADDRESS,
        features=tuple(FUSIONS.values()),
    )
    type: Literal["mongodb"] = "mongodb"
    fusion: Literal["rank", "score"] = Field(
        "rank",
        description=(
            "rank: $rankFusion, sum of weight / (60 + rank), ranks from 1, shared by equal scores; "
            "score: $scoreFusion, mean of weighted scores"
        ),
    )
    normalisation: Normalisation = Field(
        "minMaxScaler", description="how scores are brought to one scale; with fusion score only"
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weight of each list in the fusion"
    )
    exact: bool = Field(
        True, description="compare with every vector; false: through the HNSW graph"
    )
    candidates: int = Field(
        1000, ge=1, le=DEEPEST, description="HNSW: candidates when searching, at least the limit"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "MongoSettings":
        if max(self.depth.dense, self.depth.keyword) > DEEPEST:
            raise ValueError(f"depth: MongoDB gives {DEEPEST} vectors at most; allowed: {DEEPEST}")
        return self

    def build(self, resources: Resources) -> "MongoEngine":
        """Return the engine, which has indexed nothing yet."""
        return MongoEngine(self, resources)

    def connect(self) -> MongoConnection:
        """Return connections to the deployment."""
        return MongoConnection(self)


class MongoEngine(ServiceEngine[MongoSettings, MongoConnection]):
    """A collection of documents with a vector index and a text index."""

    store = MongoStore

    @property
    def formula(self) -> Formula:
        """The fusion of the stage that is asked."""
        weights = (self._settings.weights.dense, self._settings.weights.keyword)
        if self._settings.fusion == "rank":
            return SharedRanks(RANK_CONSTANT, weights)
        return AveragedScores(self._settings.normalisation, weights)

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        return [self._settings.analyzer]

    def _read_version(self, connection: MongoConnection) -> str:
        version = connection.read_version()
        if lack := FUSIONS[self._settings.fusion].find_lack(version):
            raise AssayError(f"{self.name} at {connection.url}: {lack}")
        return version

    def _search_dense(self, opened: OpenedCollection, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, of which MongoDB's score is (1 + cosine) / 2."""
        found = self._ask(opened, [self._near(vector, limit)], "vectorSearchScore")
        return [(position, 2 * score - 1) for position, score in found]

    def _search_keyword(self, opened: OpenedCollection, text: str, limit: int) -> list[Scored]:
        stages = self._match(text, limit)
        return self._ask(opened, stages, "searchScore") if stages else []

    def _search_hybrid(
        self, opened: OpenedCollection, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts."""
        settings, depth = self._settings, self.depth
        lists = {
            "dense": [self._near(vector, depth.dense)],
            "keyword": self._match(text, depth.keyword),
        }
        weights = {
            name: weight for name, weight in settings.weights.model_dump().items() if lists[name]
        }
        pipelines = {name: lists[name] for name in weights}
        if settings.fusion == "rank":
            stage: dict[str, Any] = {
                "$rankFusion": {
                    "input": {"pipelines": pipelines},
                    "combination": {"weights": weights},
                }
            }
        else:
            # Weights of its own the stage applies before minMaxScaler, which undoes them.
            shares = [{"$multiply": [f"$${name}", weight]} for name, weight in weights.items()]
            stage = {
                "$scoreFusion": {
                    "input": {"pipelines": pipelines, "normalization": settings.normalisation},
                    "combination": {
                        "method": "expression",
                        "expression": {"$divide": [{"$add": shares}, 2]},
                    },
                }
            }
        return self._ask(opened, [stage], "score")

    def _near(self, vector: Vectors, limit: int) -> dict[str, Any]:
        limit = min(limit, self._texts, DEEPEST)
        settings = self._settings
        candidates = {"numCandidates": max(limit, settings.candidates)}
        return {
            "$vectorSearch": {
                "index": VECTORS,
                "path": "vector",
                "queryVector": vector.tolist(),
                "limit": limit,
                **({"exact": True} if settings.exact else candidates),
            }
        }

    def _match(self, text: str, limit: int) -> list[dict[str, Any]]:
        """Return what searches for the words of a text; empty where it has none."""
        if not any(map(str.isalnum, text)):
            return []
        query = {"index": WORDS, "text": {"query": text, "path": "text"}}
        return [{"$search": query}, {"$limit": min(limit, self._texts)}]

    def _ask(
        self, opened: OpenedCollection, stages: list[dict[str, Any]], score: str
    ) -> list[Scored]:
        pipeline = [*stages, {"$project": {"score": {"$meta": score}}}]
        collection = opened.connection.open_collection(opened.name)
        return opened.connection.ask(
            lambda: [
                (int(each["_id"]), float(each["score"])) for each in collection.aggregate(pipeline)
            ]
        )
