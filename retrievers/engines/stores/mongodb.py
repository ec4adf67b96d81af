"""MongoDB Atlas, a service: vector and text search fused by $rankFusion or $scoreFusion."""

import re
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, Scale, SummedScores
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import TAKEN, Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

DATABASE, NOTES = "assay", "notes"
# The indexes of a collection, by what they search.
VECTORS, WORDS = "vectors", "words"
DEEPEST = 10_000
RANK_CONSTANT = 60
FUSIONS = {
    "rank": Feature("$rankFusion", (8, 0)),
    "score": Feature("$scoreFusion", (8, 2)),
}
# AtlasError: whatever Atlas itself turns down, a wrong password or a full disk.
ATLAS = 8000
_ATLAS_DENIED = re.compile(r"\bbad auth\b|authentication failed|not authori[sz]ed", re.I)

Normalisation = Literal["none", "sigmoid", "minMaxScaler"]


class MongoStore(Store):
    """A collection of one document per text, its position as `_id`, with two indexes.

    Notes are a collection of their own. Codes of errors are those of
    mongodb.com/docs/manual/reference/error-codes.
    """

    engine = "mongodb"
    vendor = "MongoDB"
    key = "MONGODB_PASSWORD"
    user = "MONGODB_USER"
    address = re.compile(r"mongodb(\+srv)?://[A-Za-z0-9.-]+(:[0-9]+)?/?")
    address_words = "mongodb+srv://HOST or mongodb://HOST:PORT"
    eventual = True
    rows_per_request = 1000
    bytes_per_request = 16_000_000
    deepest = DEEPEST
    settings: "MongoSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "13": Fault("answered", status=401),  # Unauthorized
        "18": Fault("answered", status=401),  # AuthenticationFailed
        "48": Fault("answered", status=TAKEN),  # NamespaceExists
        "68": Fault("answered", status=TAKEN),  # IndexAlreadyExists
        "50": Fault("late"),  # MaxTimeMSExpired
        "462": Fault("answered", status=429),  # IngressRequestRateLimitExceeded
        "OperationFailure": Fault("answered"),
        "NetworkTimeout": Fault("late"),
        "NotPrimaryError": Fault("answered", status=503),
        "ConnectionFailure": Fault("lost"),
        "InvalidBSON": Fault("garbled"),
        "ProtocolError": Fault("garbled"),
    }

    def connect(self) -> None:
        """Make the client. Raises AssayError for an address that it does not take."""
        from pymongo import MongoClient
        from pymongo.errors import PyMongoError
        from pymongo.server_api import ServerApi

        milliseconds = int(self.settings.timeout_seconds * 1000)
        options: dict[str, Any] = {
            "username": self.read_user(),
            "password": self.secret,
            "authSource": "admin",
            "appname": "assay",
            "server_api": ServerApi("1"),
            "connectTimeoutMS": milliseconds,
            "socketTimeoutMS": milliseconds,
            "serverSelectionTimeoutMS": milliseconds,
            "retryReads": False,
            "retryWrites": False,
        }
        # One node of several leads to the others; a name with a record in DNS does so itself.
        if not self.url.startswith("mongodb+srv:"):
            options["directConnection"] = True
        try:
            self._client: MongoClient[dict[str, Any]] = MongoClient(self.url, **options)
        except PyMongoError as error:
            variable = self.settings.capabilities.address
            raise AssayError(f"engine {self.engine}: {variable}: {error}") from None
        self.database = self._client[DATABASE]

    def read_version(self) -> str:
        """Return the server's version."""
        return str(self._client.server_info()["version"])

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Note the collection, and make it with its indexes."""
        from pymongo.operations import SearchIndexModel

        vector = {
            "type": "vector",
            "path": "vector",
            "numDimensions": dimensions,
            "similarity": "cosine",
        }
        fields = {
            "text": {"type": "string", "analyzer": self.settings.analyzer},
            "position": {"type": "number"},
        }
        words = {"mappings": {"dynamic": False, "fields": fields}}
        indexes = [
            SearchIndexModel({"fields": [vector]}, name=VECTORS, type="vectorSearch"),
            SearchIndexModel(words, name=WORDS, type="search"),
        ]
        self.mark(name, note)
        self.make(lambda: self.database.create_collection(name, check_exists=False))
        self.make(lambda: self.database[name].create_search_indexes(indexes))

    def is_made(self, name: str) -> bool:
        """Return True if both indexes can be asked."""
        listed = self.database[name].list_search_indexes()
        return {each["name"]: each["queryable"] for each in listed} == {VECTORS: True, WORDS: True}

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put documents in place of those of the same id."""
        from pymongo import ReplaceOne

        writes = []
        for row in rows:
            document = {"position": row.position, "text": row.text, "vector": row.vector}
            writes.append(ReplaceOne({"_id": row.position}, document, upsert=True))
        self.database[name].bulk_write(writes, ordered=False)

    def count(self, name: str) -> int:
        """Return how many texts both indexes of a collection know, which lag behind it."""
        collection = self.database[name]
        some = collection.find_one({}, {"vector": 1})
        if some is None:
            return 0
        there = {"index": WORDS, "exists": {"path": "position"}, "count": {"type": "total"}}
        (told,) = collection.aggregate([{"$searchMeta": there}])
        texts = int(told["count"]["total"])
        near = {
            "index": VECTORS,
            "path": "vector",
            "queryVector": some["vector"],
            "exact": True,
            "limit": DEEPEST,
        }
        counted = collection.aggregate([{"$vectorSearch": near}, {"$count": "vectors"}])
        vectors = sum(int(each["vectors"]) for each in counted)
        return texts if vectors >= min(texts, DEEPEST) else vectors

    def mark(self, name: str, note: str) -> None:
        """Note what is in a collection."""
        document = {"_id": name, "note": note}
        self.database[NOTES].replace_one({"_id": name}, document, upsert=True)

    def find_notes(self) -> dict[str, str]:
        """Return the notes."""
        return {str(each["_id"]): str(each["note"]) for each in self.database[NOTES].find()}

    def remove(self, name: str) -> None:
        """Remove the collection with its indexes, then its note."""
        self.database.drop_collection(name)
        self.database[NOTES].delete_one({"_id": name})

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; MongoDB's score is (1 + cosine) / 2."""
        found = self._search(target.name, [self._near(vector, limit)], "vectorSearchScore")
        return [(position, 2 * score - 1) for position, score in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        stages = _match(text, limit)
        return self._search(target.name, stages, "searchScore") if stages else []

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts."""
        settings, depth = self.settings, self.settings.depth
        lists = {
            "dense": [self._near(vector, depth.dense)],
            "keyword": _match(text, depth.keyword),
        }
        weights = {
            side: weight for side, weight in settings.weights.model_dump().items() if lists[side]
        }
        pipelines = {side: lists[side] for side in weights}
        if settings.fusion == "rank":
            given: dict[str, Any] = {"pipelines": pipelines}
            stage: Any = {"$rankFusion": {"input": given, "combination": {"weights": weights}}}
        else:
            # Weights of its own the stage applies before minMaxScaler, which undoes them.
            shares = [{"$multiply": [f"$${side}", weight]} for side, weight in weights.items()]
            mean = {"$divide": [{"$add": shares}, 2]}
            given = {"pipelines": pipelines, "normalization": settings.normalisation}
            combination = {"method": "expression", "expression": mean}
            stage = {"$scoreFusion": {"input": given, "combination": combination}}
        return self._search(target.name, [stage], "score")

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's reason, also for one failed write of several."""
        details = getattr(error, "details", None)
        details = details if isinstance(details, dict) else {}
        failed = [each.get("errmsg") for each in details.get("writeErrors", ())]
        return details.get("errmsg") or next(iter(failed), str(error).partition(", Timeout:")[0])

    @classmethod
    def read_status(cls, error: Any) -> int:
        """Return the server's code; Atlas says by words that it does not know the user."""
        code = int(error.code or 0)
        return 401 if code == ATLAS and _ATLAS_DENIED.search(str(cls.say(error))) else code

    def _near(self, vector: Vectors, limit: int) -> dict[str, Any]:
        settings = self.settings
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

    def _search(self, name: str, stages: list[dict[str, Any]], score: str) -> list[Scored]:
        pipeline = [*stages, {"$project": {"score": {"$meta": score}}}]
        found = self.database[name].aggregate(pipeline)
        return [(int(each["_id"]), float(each["score"])) for each in found]


class MongoSettings(ServerSettings):
    """MongoDB Atlas, a service at MONGODB_URL: vector and text lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="mongodb",
        modules=("pymongo",),
        packages=("pymongo",),
        address="MONGODB_URL",
        features=tuple(FUSIONS.values()),
    )
    store: ClassVar[type[MongoStore]] = MongoStore
    type: Literal["mongodb"] = "mongodb"
    analyzer: str = Field(
        "lucene.english",
        pattern=r"[\w.]+",
        description=(
            "the analyzer by its name in Atlas: lucene.english stems and drops stop words, "
            "lucene.standard does neither; BM25 has Lucene's k1 = 1.2 and b = 0.75"
        ),
    )
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

    @property
    def features(self) -> Sequence[Feature]:
        """The stage that fuses."""
        return [FUSIONS[self.fusion]]

    def make_formula(self) -> Formula:
        """Return the fusion of the query's stage."""
        weights = (self.weights.dense, self.weights.keyword)
        if self.fusion == "rank":
            return ReciprocalRanks(k=RANK_CONSTANT, weights=weights, shared=True)
        return average_scores(self.normalisation, weights)

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.analyzer]


def average_scores(normalisation: Normalisation, weights: tuple[float, float]) -> SummedScores:
    """Return the mean of both weighted scores, 0 if a list lacks a text.

    Source: document_source_score_fusion.cpp; minMaxScaler brings equal scores to 0.
    """
    told, scale = _SCALES[normalisation]
    says = f"mean of both lists' scores, {told}, a cosine as (1 + cosine) / 2, {{weights}}"
    return SummedScores(says, weights, scale, halved=True, of=2)


def _match(text: str, limit: int) -> list[dict[str, Any]]:
    """Return the stages that search for the words of a text; empty if it has none."""
    if not any(map(str.isalnum, text)):
        return []
    query = {"index": WORDS, "text": {"query": text, "path": "text"}}
    return [{"$search": query}, {"$limit": limit}]


def _scale(scores: Sequence[float]) -> Sequence[float]:
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - lowest) / (highest - lowest or 1.0) for score in scores]


_SCALES: dict[Normalisation, tuple[str, Scale]] = {
    "none": ("as they are", list),
    "sigmoid": (
        "each as 1 / (1 + e^-score)",
        lambda scores: [1 / (1 + exp(-score)) for score in scores],
    ),
    "minMaxScaler": ("each as (score - lowest) / (highest - lowest)", _scale),
}
