"""Milvus, a server: dense and BM25 lists fused by its rerankers."""

import logging
import socket
from collections.abc import Mapping, Sequence
from math import atan, pi
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, SummedScores
from assay.retrievers.engines.servers.collections import INDEXING_SECONDS, PREFIX
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import GONE, Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Settings

if TYPE_CHECKING:
    from pymilvus import MilvusClient

BM25 = Feature("keyword search by BM25", (2, 5))
PORT = 19530
NOTE = "assay.note"
DENSE, KEYWORD = "dense", "keyword"
LONGEST = 65_535  # bytes of a VARCHAR
# The most that one search gives: milvus.io/docs/limitations.md
DEEPEST = 16_384


class SingleAttempt(float):
    """A time limit in seconds that makes the client give up after one attempt.

    The client retries a call that reached no server until `elapsed >= limit`, and all of its
    attempts would count as the server's time.
    """

    def __le__(self, _: float) -> bool:
        return True


class MilvusStore(Store):
    """A collection of rows with a text, its vector, and its terms, which the server makes.

    It is asked over gRPC. The note of a collection is a property of it: Milvus keeps also those
    that it does not know. Milvus' own codes of errors: pkg/util/merr/errors.go
    """

    engine = "milvus"
    vendor = "Milvus"
    key = "MILVUS_TOKEN"
    needs_key = False
    eventual = True
    rows_per_request = 1000
    bytes_per_request = 8_000_000
    deepest = DEEPEST
    most_listed = 20_000  # of each, its parser makes a node
    settings: "MilvusSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "8": Fault("answered", status=429),
        "100": Fault("answered", status=GONE),
        "1807": Fault("answered", status=403),
        "1808": Fault("answered", status=403),
        "DEADLINE_EXCEEDED": Fault("late"),
        "UNAUTHENTICATED": Fault("answered", status=401),
        "PERMISSION_DENIED": Fault("answered", status=403),
        "RESOURCE_EXHAUSTED": Fault("answered", status=429),
        "RpcError": Fault("lost"),
        "MilvusException": Fault("answered"),
        "TimeoutError": Fault("late"),
        "OSError": Fault("lost"),
    }

    def connect(self) -> None:
        """Keep what the client logs of each failed call quiet: it also raises it."""
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
        self._client: MilvusClient | None = None

    def read_version(self) -> str:
        """Connect, and return the server's version. Raises AssayError if it is too old.

        The client would wait for as long as it may where nobody listens.
        """
        from pymilvus import MilvusClient

        seconds, parts = self.settings.timeout_seconds, urlsplit(self.url)
        socket.create_connection((parts.hostname, parts.port or PORT), seconds).close()
        self._client = MilvusClient(self.url, token=self.secret, timeout=seconds, dedicated=True)
        version = str(self._call("get_server_version"))
        if lack := BM25.find_lack(version):
            raise self.refuse(lack)
        return version

    def prepare(self, texts: Sequence[str], dimensions: int) -> dict[str, Any]:
        """Raise AssayError for a text that is longer than Milvus keeps."""
        for position, text in enumerate(texts):
            if (bytes_ := len(text.encode())) > LONGEST:
                raise AssayError(
                    f"milvus: text {position} has {bytes_} bytes, and {LONGEST} are the most that "
                    "Milvus keeps; let the chunker make shorter ones"
                )
        return {}

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make a collection of texts, their vectors, and terms that BM25 makes of the texts."""
        from pymilvus import DataType, Function, FunctionType, MilvusClient

        settings = self.settings
        schema = MilvusClient.create_schema(auto_id=False)
        schema.add_field("position", DataType.INT64, is_primary=True)
        schema.add_field(
            "text",
            DataType.VARCHAR,
            max_length=LONGEST,
            enable_analyzer=True,
            analyzer_params=settings.bm25.analyzer,
        )
        schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=dimensions)
        schema.add_field(KEYWORD, DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(Function("bm25", FunctionType.BM25, ["text"], [KEYWORD]))
        graph = {"M": settings.m, "efConstruction": settings.ef_construction}
        indexes = MilvusClient.prepare_index_params()
        # One level deeper, as in the protocol: the client would flatten it.
        indexes.add_index(
            DENSE,
            index_type="FLAT" if settings.exact else "HNSW",
            metric_type="COSINE",
            params={"params": {} if settings.exact else graph},
        )
        indexes.add_index(
            KEYWORD,
            index_type="SPARSE_INVERTED_INDEX",
            metric_type="BM25",
            params={"params": {"bm25_k1": settings.bm25.k1, "bm25_b": settings.bm25.b}},
        )
        self._call(
            "create_collection",
            name,
            schema=schema,
            index_params=indexes,
            consistency_level="Strong",
            num_shards=1,
        )
        self.mark(name, note)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows in place of those at the same positions."""
        told = [{"position": row.position, "text": row.text, DENSE: row.vector} for row in rows]
        self._call("upsert", name, told)

    def finish(self, name: str) -> None:
        """Have the rows stored."""
        self._call("flush", name, seconds=INDEXING_SECONDS)

    def is_ready(self, name: str) -> bool:
        """Return True if all rows are in the dense index."""
        return not int(self._call("describe_index", name, DENSE).get("pending_index_rows", 0))

    def count(self, name: str) -> int:
        """Return how many texts there are, in a collection that the server loads for searches."""
        self._call("load_collection", name, seconds=INDEXING_SECONDS)
        return int(self._call("query", name, output_fields=["count(*)"])[0]["count(*)"])

    def mark(self, name: str, note: str) -> None:
        """Put the note among the properties."""
        self._call("alter_collection_properties", name, {NOTE: note})

    def find_notes(self) -> dict[str, str]:
        """Return the notes of the collections that may be this project's."""
        notes = {}
        for name in self._call("list_collections"):
            if name.startswith(PREFIX):
                told = self._call("describe_collection", name)
                notes[name] = str(told["properties"].get(NOTE, ""))
        return notes

    def remove(self, name: str) -> None:
        """Remove the collection."""
        if self._call("has_collection", name):
            self._call("drop_collection", name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine."""
        return self._search(target, DENSE, vector.tolist(), limit, self._candidates(limit))

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share terms; Milvus Lite gives their scores below 0."""
        found = self._search(target, KEYWORD, text, limit, {})
        return [(position, abs(score)) for position, score in found]

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts: how ties are broken is not documented."""
        from pymilvus import AnnSearchRequest, RRFRanker, WeightedRanker

        settings, depth, among = self.settings, self.settings.depth, _express(target.allowed)
        weights, candidates = settings.weights, self._candidates(depth.dense)
        requests = [
            AnnSearchRequest([vector.tolist()], DENSE, candidates, depth.dense, among),
            AnnSearchRequest([text], KEYWORD, {}, depth.keyword, among),
        ]
        ranker = (
            RRFRanker(settings.k)
            if settings.fusion == "rrf"
            else WeightedRanker(weights.dense, weights.keyword, norm_score=True)
        )
        most = depth.dense + depth.keyword
        found = self._call(
            "hybrid_search", target.name, requests, ranker, limit=most, output_fields=[]
        )
        return _read(found)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        if self._client is not None:
            self._client.close()

    @classmethod
    def find_fault(cls, error: Any) -> Fault | None:
        """Return the fault of an error; of gRPC by the name of its status."""
        import grpc
        from pymilvus.client.types import Status

        code = error.code() if isinstance(error, grpc.RpcError) else getattr(error, "code", None)
        if code == Status.CONNECT_FAILED:
            return Fault("lost", cls.say(error))
        if isinstance(code, grpc.StatusCode):
            found = cls.faults.get(code.name, cls.faults["RpcError"])
            return Fault(found.kind, cls.say(error), found.status)
        return super().find_fault(error)

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's message, without the client's note on its number of tries."""
        if isinstance(error, OSError):
            return error.strerror or error
        if callable(details := getattr(error, "details", None)):
            return details()
        return str(getattr(error, "message", error)).rpartition("message=")[2]

    def _call(self, method: str, *given: Any, seconds: float = 0.0, **named: Any) -> Any:
        """Return the answer to a method of the client."""
        limit = SingleAttempt(seconds or self.settings.timeout_seconds)
        action = getattr(self._client, method)
        return action(*given, timeout=limit, retry_on_rate_limit=False, **named)

    def _search(
        self, target: Target, field: str, asked: Any, limit: int, params: Any
    ) -> list[Scored]:
        return _read(
            self._call(
                "search",
                target.name,
                data=[asked],
                anns_field=field,
                limit=limit,
                search_params=params,
                filter=_express(target.allowed),
                output_fields=[],
            )
        )

    def _candidates(self, limit: int) -> dict[str, Any]:
        settings = self.settings
        return {} if settings.exact else {"params": {"ef": max(settings.ef, limit)}}


class MilvusBm25Settings(Settings):
    """Milvus' BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)): terms in lower case."""

    tokenizer: Literal["standard", "jieba"] = Field(
        "standard",
        description="standard splits at all but letters, digits and _; jieba for Chinese",
    )
    stop_words: list[str] = Field(
        default_factory=list, description="words in lower case that are dropped"
    )
    k1: float = Field(1.2, gt=0, le=3, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )

    @property
    def analyzer(self) -> dict[str, object]:
        """The analyzer in the form that Milvus takes."""
        filters: list[object] = ["lowercase"]
        if self.stop_words:
            filters.append({"type": "stop", "stop_words": self.stop_words})
        return {"tokenizer": self.tokenizer, "filter": filters}


class MilvusSettings(ServerSettings):
    """Milvus, a server at MILVUS_URL: dense and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="milvus",
        modules=("pymilvus",),
        packages=("pymilvus",),
        address="MILVUS_URL",
        features=(BM25,),
        restricts=True,
    )
    store: ClassVar[type[MilvusStore]] = MilvusStore
    type: Literal["milvus"] = "milvus"
    bm25: MilvusBm25Settings = Field(
        default_factory=MilvusBm25Settings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "weighted"] = Field(
        "rrf",
        description=(
            "rrf: RRFRanker, reciprocal rank fusion; weighted: WeightedRanker, weighted sum of "
            "scores that are each brought to between 0 and 1"
        ),
    )
    k: int = Field(
        60,
        ge=1,
        lt=DEEPEST,
        description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted",
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weighted only; they multiply scores; at most 1"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(30, ge=2, le=2048, description="HNSW: edges of a node")
    ef_construction: int = Field(360, ge=1, description="HNSW: candidates when it is built")
    ef: int = Field(
        200, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "MilvusSettings":
        if self.depth.dense + self.depth.keyword > DEEPEST:
            raise ValueError(f"depth: Milvus gives {DEEPEST} texts at most, both lists together")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights in Milvus; leave them out, or use weighted")
        if max(self.weights.dense, self.weights.keyword) > 1:
            raise ValueError("weights: Milvus takes 0 to 1")
        return self

    def make_formula(self) -> Formula:
        """Return the fusion as Milvus' documents of its rerankers state it, in 32 bits."""
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k, rounded=True)
        return sum_arctangents((self.weights.dense, self.weights.keyword))

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construction])]


def sum_arctangents(weights: tuple[float, float]) -> SummedScores:
    """Return the sum of scores that are brought to between 0 and 1, whatever else was found."""
    says = "{dense} × (1 + cosine) / 2 + {keyword} × 2 arctan(keyword score) / pi"
    return SummedScores(
        says,
        weights,
        halved=True,
        scale_keyword=lambda scores: [2 * atan(score) / pi for score in scores],
        rounded=True,
    )


def _express(allowed: Allowed | None) -> str:
    """Return the filter that is met by the texts that may be found; "" if all may be."""
    if allowed is None:
        return ""
    listed = allowed.fewer
    return f"position {'not in' if listed.others else 'in'} {listed.positions}"


def _read(found: Any) -> list[Scored]:
    """Return (position, score) of the only query's hits."""
    return [(int(hit["position"]), float(hit["distance"])) for hit in found[0]]
