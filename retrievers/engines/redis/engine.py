"""Redis with its query engine, a server: vector and BM25 lists fused by FT.HYBRID."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.query_escaping import find_words
from assay.retrievers.engines.redis.connection import (
    ADDRESS,
    HYBRID,
    RedisConnection,
    pair,
)
from assay.retrievers.engines.redis.settings import RedisIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import StatedEngine
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

TEXTS_PER_REQUEST = 500
BYTES_PER_REQUEST = 5_000_000


class RedisStore(ServiceStore[RedisConnection, RedisIndexSettings]):
    """An index of one hash a text, its position behind the index's name as key."""

    def create(self, name: str, note: str) -> None:
        """Note the index, and make it."""
        settings = self._settings
        shape = ["TYPE", "FLOAT32", "DIM", self.plan.dimensions, "DISTANCE_METRIC", "COSINE"]
        if not settings.exact:
            shape += ["M", settings.m, "EF_CONSTRUCTION", settings.ef_construction]
        words = ["LANGUAGE", settings.text.language]
        stop_words = [] if settings.text.stop_words else ["STOPWORDS", 0]
        self.connection.write_note(name, note)
        self.connection.make(
            lambda: self.connection.client.execute_command(
                "FT.CREATE", name, "ON", "HASH", "PREFIX", 1, f"{name}:", *words, *stop_words,
                "SCHEMA", "text", "TEXT",
                "vector", "VECTOR", "FLAT" if settings.exact else "HNSW", len(shape), *shape,
            )
        )  # fmt: skip

    def upload(self, name: str) -> None:
        """Put the hashes, which the server indexes as they come."""
        for chosen in batch(
            self.track(range(len(self._texts))),
            TEXTS_PER_REQUEST,
            lambda i: 4 * self.plan.dimensions + 4 * len(self._texts[i]),
            BYTES_PER_REQUEST,
        ):
            self.connection.put(
                name,
                {
                    str(i): {"text": self._texts[i], "vector": pack(self._vectors[i])}
                    for i in chosen
                },
            )


def pack(vector: Vectors) -> bytes:
    """Return a vector as Redis takes it: 32 bits a number, the lowest byte first."""
    return vector.astype("<f4").tobytes()


SCORER = ("SCORER", "BM25STD")
# What is found when a server's own limit of time is over would come as if it were all.
UNLIMITED = ("TIMEOUT", 0)

OpenedIndex: TypeAlias = OpenIndex[RedisConnection]


class RedisSettings(RedisIndexSettings):
    """Redis with its query engine, a server at REDIS_URL: vector and BM25 lists fused inside."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="redis",
        modules=("redis",),
        packages=("redis",),
        address=ADDRESS,
        features=(HYBRID,),
        met="8.0.2, no fusion",
    )
    type: Literal["redis"] = "redis"

    def build(self, resources: Resources) -> "RedisEngine":
        """Return the engine, which has indexed nothing yet."""
        return RedisEngine(self, resources)

    def connect(self) -> RedisConnection:
        """Return connections to the server."""
        return RedisConnection(self)


class RedisEngine(StatedEngine[RedisSettings, RedisConnection]):
    """An index of hashes with a text and its vector."""

    store = RedisStore

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of least distance, which is 1 - cosine."""

        def read(answer: Any) -> list[Scored]:
            found = zip(answer[1::2], answer[2::2], strict=True)
            return [(_position(key), 1 - float(pair(fields)["far"])) for key, fields in found]

        return opened.connection.read(self._ask_dense(opened, vector, limit), read)  # type: ignore[no-any-return]

    def _search_keyword(self, opened: OpenedIndex, text: str, limit: int) -> list[Scored]:
        def read(answer: Any) -> list[Scored]:
            found = zip(answer[1::2], answer[2::2], strict=True)
            return [(_position(key), float(score)) for key, score in found]

        parts = self._ask_keyword(opened, text, limit)
        return opened.connection.read(parts, read) if parts else []

    def _ask_dense(
        self, opened: OpenedIndex, vector: Vectors, limit: int
    ) -> tuple[str | int | bytes, ...]:
        limit = min(limit, self._texts)
        effort = "" if self._exact else f" EF_RUNTIME {max(limit, self._settings.ef)}"
        return (
            "FT.SEARCH", opened.name, f"*=>[KNN {limit} @vector $vector{effort} AS far]",
            "RETURN", 1, "far", "SORTBY", "far", "ASC",
            "LIMIT", 0, limit, *UNLIMITED, "PARAMS", 2, "vector", pack(vector), "DIALECT", 2,
        )  # fmt: skip

    def _ask_keyword(
        self, opened: OpenedIndex, text: str, limit: int
    ) -> tuple[str | int | bytes, ...]:
        """Return nothing where the text has no word."""
        if not (words := find_words(text)):
            return ()
        return (
            "FT.SEARCH", opened.name, _match(words), *SCORER, "WITHSCORES", "NOCONTENT",
            "LIMIT", 0, min(limit, self._texts), *UNLIMITED, "DIALECT", 2,
        )  # fmt: skip

    def _search_hybrid(
        self, opened: OpenedIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts; what has no word is asked as a vector alone, and not fused.

        Raises AssayError where the server has no FT.HYBRID.
        """
        connection, settings, depth = opened.connection, self._settings, self.depth.dense
        if lack := HYBRID.find_lack(connection.version):
            way_out = f"`assay run hybrid --engine {self.name}` fuses its dense list here"
            raise AssayError(f"{self.name} at {connection.url}: {lack}; {way_out}")
        if not (words := find_words(text)):
            return self.formula.fuse(self._search_dense(opened, vector, depth), [])
        effort = [] if self._exact else ["EF_RUNTIME", max(depth, settings.ef)]
        near = ["K", min(depth, self._texts), *effort]
        how: list[object] = ["CONSTANT", settings.k]
        if settings.fusion == "linear":
            how = ["ALPHA", settings.weights.keyword, "BETA", settings.weights.dense]
        how += ["WINDOW", depth]

        def read(answer: Any) -> list[Scored]:
            told = pair(answer)
            if told["warnings"]:
                raise ValueError(told["warnings"])
            rows = map(pair, told["results"])
            return [(_position(row["__key"]), float(row["__score"])) for row in rows]

        parts = (
            "FT.HYBRID", opened.name, "SEARCH", _match(words), *SCORER,
            "VSIM", "@vector", "$vector", "KNN", len(near), *near,
            "COMBINE", settings.fusion.upper(), len(how), *how,
            "LIMIT", 0, 2 * depth, "PARAMS", 2, "vector", pack(vector), *UNLIMITED,
        )  # fmt: skip
        return connection.read(parts, read)  # type: ignore[no-any-return]


def _match(words: Sequence[str]) -> str:
    """Return the query for texts that share a word."""
    return f"@text:({'|'.join(words)})"


def _position(key: bytes) -> int:
    return int(key.rpartition(b":")[2])
