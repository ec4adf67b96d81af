"""Redis with its query engine, a server: vector and BM25 lists fused by FT.HYBRID."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, SummedScores
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import (
    GONE,
    TAKEN,
    Fault,
    Row,
    Store,
    Target,
    find_words,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Settings

NOTES = "assay:notes"
HYBRID = Feature("FT.HYBRID", (8, 4))
SCORER = ("SCORER", "BM25STD")
# What is found when a server's own limit of time is over would come as if it were all.
UNLIMITED = ("TIMEOUT", 0)
# Errors that have no class of their own, by what the server says.
SAID = {
    "NOAUTH": 401,
    "no such index": GONE,
    "unknown index name": GONE,
    "index already exists": TAKEN,
}
# What the client says before the server's reason names the texts of a request.
_PIPELINE = "of pipeline caused error: "


class RedisStore(Store):
    """An index of one hash per text, its position behind the index's name as key.

    Notes are the fields of one hash. `version` is that of the query engine, which a server of
    version 8 has the same.
    """

    engine = "redis"
    vendor = "Redis"
    key = "REDIS_PASSWORD"
    user = "REDIS_USER"
    needs_key = False
    address = re.compile(r"rediss?://[A-Za-z0-9.-]+(:[0-9]+)?(/[0-9]+)?/?")
    address_words = "redis://HOST:PORT or rediss://HOST:PORT"
    eventual = True
    settings: "RedisSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "InvalidResponse": Fault("garbled"),
        "AuthenticationError": Fault("answered", status=401),
        "TimeoutError": Fault("late"),
        "BusyLoadingError": Fault("answered", status=503),
        "MasterDownError": Fault("answered", status=503),
        "TryAgainError": Fault("answered", status=503),
        "ClusterDownError": Fault("answered", status=503),
        "ResponseError": Fault("answered"),
        "ConnectionError": Fault("lost"),
    }

    def connect(self) -> None:
        """Make the client; replies are arrays of protocol 2, whatever else the server speaks."""
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        self._client: Redis = Redis.from_url(
            self.url,
            username=os.environ.get(self.user) or None,
            password=self.secret or None,
            protocol=2,
            socket_timeout=self.settings.timeout_seconds,
            socket_connect_timeout=self.settings.timeout_seconds,
            retry=Retry(NoBackoff(), 0),
        )

    def read_version(self) -> str:
        """Return the version of the query engine. Raises AssayError if there is none."""
        for module in self._call("MODULE LIST"):
            if module[b"name"] == b"search":
                major, rest = divmod(int(module[b"ver"]), 10_000)
                return f"{major}.{rest // 100}.{rest % 100}"
        raise self.refuse("has no query engine; Redis 8 has one, and Redis Stack")

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Note the index, and make it."""
        settings = self.settings
        shape = ["TYPE", "FLOAT32", "DIM", dimensions, "DISTANCE_METRIC", "COSINE"]
        if not settings.exact:
            shape += ["M", settings.m, "EF_CONSTRUCTION", settings.ef_construction]
        words = ["LANGUAGE", settings.text.language]
        stop_words = [] if settings.text.stop_words else ["STOPWORDS", 0]
        self.mark(name, note)
        self.make(
            lambda: self._call(
                "FT.CREATE", name, "ON", "HASH", "PREFIX", 1, f"{name}:", *words, *stop_words,
                "SCHEMA", "text", "TEXT",
                "vector", "VECTOR", "FLAT" if settings.exact else "HNSW", len(shape), *shape,
            )
        )  # fmt: skip

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put hashes, all in one request; the server indexes them as they come."""
        pipeline = self._client.pipeline(transaction=False)
        for row in rows:
            fields = {"text": row.text, "vector": _pack(np.asarray(row.vector))}
            pipeline.hset(f"{name}:{row.position}", mapping=fields)
        pipeline.execute()

    def count(self, name: str) -> int:
        """Return how many texts are indexed. Raises AssayError if one could not be."""
        told = _pair(self._call("FT.INFO", name))
        if failed := int(told["hash_indexing_failures"]):
            raise self.refuse(f"{name}: {failed} texts cannot be indexed")
        return int(told["num_docs"])

    def mark(self, name: str, note: str) -> None:
        """Note what is in an index."""
        self._client.hset(NOTES, name, note)

    def find_notes(self) -> dict[str, str]:
        """Return the notes."""
        found = self._client.hgetall(NOTES)
        return {name.decode(): note.decode() for name, note in found.items()}

    def remove(self, name: str) -> None:
        """Remove the index with its texts, then its note."""
        with self.suppress_gone():
            self._call("FT.DROPINDEX", name, "DD")
        self._client.hdel(NOTES, name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of least distance, which is 1 - cosine."""
        settings = self.settings
        effort = "" if settings.exact else f" EF_RUNTIME {max(limit, settings.ef)}"
        answer = self._call(
            "FT.SEARCH", target.name, f"*=>[KNN {limit} @vector $vector{effort} AS far]",
            "RETURN", 1, "far", "SORTBY", "far", "ASC",
            "LIMIT", 0, limit, *UNLIMITED, "PARAMS", 2, "vector", _pack(vector), "DIALECT", 2,
        )  # fmt: skip
        found = zip(answer[1::2], answer[2::2], strict=True)
        return [(_position(key), 1 - float(_pair(fields)["far"])) for key, fields in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a word."""
        if not (words := find_words(text)):
            return []
        answer = self._call(
            "FT.SEARCH", target.name, _match(words), *SCORER, "WITHSCORES", "NOCONTENT",
            "LIMIT", 0, limit, *UNLIMITED, "DIALECT", 2,
        )  # fmt: skip
        found = zip(answer[1::2], answer[2::2], strict=True)
        return [(_position(key), float(score)) for key, score in found]

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts; a query without words is searched by vector only, unfused.

        Raises AssayError if the server has no FT.HYBRID.
        """
        settings, depth = self.settings, self.settings.depth.dense
        if lack := HYBRID.find_lack(self.version):
            way_out = f"`assay run hybrid --engine {self.engine}` fuses its dense list here"
            raise self.refuse(f"{lack}; {way_out}")
        if not (words := find_words(text)):
            found = self.dense(target, vector, depth)
            return settings.make_formula().fuse(found, [])
        effort = [] if settings.exact else ["EF_RUNTIME", max(depth, settings.ef)]
        near = ["K", depth, *effort]
        how: list[object] = ["CONSTANT", settings.k]
        if settings.fusion == "linear":
            how = ["ALPHA", settings.weights.keyword, "BETA", settings.weights.dense]
        how += ["WINDOW", depth]
        told = _pair(
            self._call(
                "FT.HYBRID", target.name, "SEARCH", _match(words), *SCORER,
                "VSIM", "@vector", "$vector", "KNN", len(near), *near,
                "COMBINE", settings.fusion.upper(), len(how), *how,
                "LIMIT", 0, 2 * depth, "PARAMS", 2, "vector", _pack(vector), *UNLIMITED,
            )
        )  # fmt: skip
        if told["warnings"]:
            raise ValueError(told["warnings"])
        rows = map(_pair, told["results"])
        return [(_position(row["__key"]), float(row["__score"])) for row in rows]

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's reason alone."""
        return str(error).rpartition(_PIPELINE)[2]

    @classmethod
    def read_status(cls, error: Any) -> int:
        """Return the status that corresponds to the server's message."""
        said = str(cls.say(error)).casefold()
        return next((status for words, status in SAID.items() if words.casefold() in said), 0)

    def _call(self, *parts: object) -> Any:
        """Return the answer to a command."""
        return self._client.execute_command(*parts)


Language = Literal[
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
]  # fmt: skip


class RedisTextSettings(Settings):
    """Redis' BM25 (BM25STD), of fixed k1 = 1.2 and b = 0.75, with idf = ln(1 + (N - df + 0.5) /
    (df + 0.5)).
    """

    language: Language = Field("english", description="language of the Snowball stemmer")
    stop_words: bool = Field(True, description="drop Redis' 33 English stop words")


class RedisSettings(ServerSettings):
    """Redis with its query engine, a server at REDIS_URL: vector and BM25 lists fused inside."""

    language_key: ClassVar[str] = "text.language"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="redis",
        modules=("redis",),
        packages=("redis",),
        address="REDIS_URL",
        features=(HYBRID,),
        met="8.0.2, no fusion",
    )
    store: ClassVar[type[RedisStore]] = RedisStore
    type: Literal["redis"] = "redis"
    text: RedisTextSettings = Field(
        default_factory=RedisTextSettings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "of FT.HYBRID: rrf, reciprocal rank fusion; linear, weighted sum of (1 + cosine) / 2 "
            "and the BM25 score as it is"
        ),
    )
    k: float = Field(60, gt=0, description="rrf's constant; a list adds 1 / (k + rank)")
    weights: LegWeights = Field(default_factory=LegWeights, description="linear only")
    exact: bool = Field(
        True, description="a FLAT index, which compares with every vector; false: an HNSW graph"
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        200, ge=1, le=4096, description="HNSW: candidates when the graph is built"
    )
    ef: int = Field(
        200, ge=1, le=4096, description="HNSW: candidates when searching; at least the limit"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "RedisSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError("depth: Redis cuts both lists at one WINDOW; make both the same")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights here; leave them out, or use linear")
        return self

    def make_formula(self) -> Formula:
        """Return the fusion."""
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k)
        return sum_weighted((self.weights.dense, self.weights.keyword))

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.text, *([] if self.exact else [self.m, self.ef_construction])]


def sum_weighted(weights: tuple[float, float]) -> SummedScores:
    """Return the sum of (1 + cosine) / 2 and the keyword score as it is."""
    says = "{dense} × (1 + cosine) / 2 + {keyword} × keyword score"
    return SummedScores(says, weights, halved=True)


def _pack(vector: Vectors) -> bytes:
    """Return a vector as Redis takes it: 32 bits a number, the lowest byte first."""
    return vector.astype("<f4").tobytes()


def _pair(answer: Sequence[Any]) -> dict[str, Any]:
    """Return by name what comes as names and values in turns."""
    return {name.decode(): value for name, value in zip(answer[::2], answer[1::2], strict=True)}


def _match(words: Sequence[str]) -> str:
    """Return the query for texts that share a word."""
    return f"@text:({'|'.join(words)})"


def _position(key: bytes) -> int:
    return int(key.rpartition(b":")[2])
