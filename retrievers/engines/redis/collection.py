"""Indexes in Redis: hashes with a text and its vector."""

from assay.retrievers.engines.redis.connection import RedisConnection
from assay.retrievers.engines.redis.settings import RedisIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.models.base import Vectors

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
