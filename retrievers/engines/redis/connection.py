"""Calls to a Redis server, and what goes wrong in them."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.redis.settings import RedisIndexSettings
from assay.retrievers.engines.servers.service import (
    GONE,
    TAKEN,
    Fault,
    GoneError,
    ServiceConnection,
)

ADDRESS = "REDIS_URL"
USER = "REDIS_USER"
NOTES = "assay:notes"
HYBRID = Feature("FT.HYBRID", (8, 4))
_ADDRESS = re.compile(r"rediss?://[A-Za-z0-9.-]+(:[0-9]+)?(/[0-9]+)?/?")
_GONE = re.compile(r"no such index|unknown index name", re.I)
_TAKEN = re.compile(r"index already exists", re.I)
# What the client says before the server's reason names the texts of a request.
_PIPELINE = "of pipeline caused error: "


class RedisConnection(ServiceConnection):
    """Asks the server at REDIS_URL; notes are the fields of one hash.

    `version` is that of the query engine, which a server of version 8 has the same.
    """

    engine = "redis"
    vendor = "Redis"
    key = "REDIS_PASSWORD"
    needs_key = False

    def __init__(self, settings: RedisIndexSettings) -> None:
        super().__init__(settings, read_url(self.engine))
        settings.capabilities.load()
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # Answers are the arrays of protocol 2, whatever the server has beside it.
        self.client: Redis = Redis.from_url(
            self.url,
            username=os.environ.get(USER) or None,
            password=os.environ.get(self.key) or None,
            protocol=2,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            # Retries are made and counted here.
            retry=Retry(NoBackoff(), 0),
        )
        try:
            self.version = self._read_version()
        except BaseException:
            self.close()
            raise

    def call(self, *parts: object) -> Any:
        """Return the answer to a command."""
        return self.ask(lambda: self.client.execute_command(*parts))

    def read(self, parts: Sequence[object], reading: Callable[[Any], Any]) -> Any:
        """Return what `reading` makes of the answer to a command."""
        return self.ask(lambda: reading(self.client.execute_command(*parts)))

    def put(self, name: str, rows: Mapping[str, Mapping[str, object]]) -> None:
        """Put hashes under their keys, all in one request."""

        def send() -> None:
            pipeline = self.client.pipeline(transaction=False)
            for key, fields in rows.items():
                pipeline.hset(f"{name}:{key}", mapping=dict(fields))
            pipeline.execute()

        self.ask(send)

    def list_notes(self) -> dict[str, str]:
        """Return the notes."""
        found = self.ask(lambda: self.client.hgetall(NOTES))
        return {name.decode(): note.decode() for name, note in found.items()}

    def write_note(self, name: str, note: str) -> None:
        """Note what is in an index."""
        self.ask(lambda: self.client.hset(NOTES, name, note))

    def count(self, name: str) -> int:
        """Return how many texts are indexed. Raises AssayError where one could not be."""
        told = self.read(("FT.INFO", name), pair)
        if failed := int(told["hash_indexing_failures"]):
            raise AssayError(
                f"{self.engine} at {self.url}: {name}: {failed} texts cannot be indexed"
            )
        return int(told["num_docs"])

    def drop(self, name: str) -> None:
        """Remove the index with its texts, then its note."""
        with suppress(GoneError):
            self.call("FT.DROPINDEX", name, "DD")
        self.ask(lambda: self.client.hdel(NOTES, name))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self.client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from redis import exceptions

        said = str(error).rpartition(_PIPELINE)[2]
        passing = (
            exceptions.BusyLoadingError,
            exceptions.MasterDownError,
            exceptions.TryAgainError,
            exceptions.ClusterDownError,
        )
        if isinstance(error, exceptions.InvalidResponse):
            return Fault("garbled")
        if isinstance(error, exceptions.AuthenticationError) or said.startswith("NOAUTH"):
            return Fault("answered", said, 401)
        if isinstance(error, exceptions.TimeoutError):
            return Fault("late")
        if isinstance(error, passing):
            return Fault("answered", said, 503)
        if isinstance(error, exceptions.ResponseError):
            status = GONE if _GONE.search(said) else TAKEN if _TAKEN.search(said) else 0
            return Fault("answered", said, status)
        return Fault("lost", said) if isinstance(error, exceptions.ConnectionError) else None

    def _read_version(self) -> str:
        """Return the version of the query engine. Raises AssayError where there is none."""
        for module in self.call("MODULE LIST"):
            if module[b"name"] == b"search":
                major, rest = divmod(int(module[b"ver"]), 10_000)
                return f"{major}.{rest // 100}.{rest % 100}"
        raise AssayError(
            f"{self.engine} at {self.url}: has no query engine; Redis 8 has one, and Redis Stack"
        )


def pair(answer: Sequence[Any]) -> dict[str, Any]:
    """Return by name what comes as names and values in turns."""
    return {name.decode(): value for name, value in zip(answer[::2], answer[1::2], strict=True)}


def read_url(engine: str) -> str:
    """Return the address of the server. Raises AssayError, which repeats nothing of it."""
    url = os.environ.get(ADDRESS, "")
    if not _ADDRESS.fullmatch(url):
        raise AssayError(
            f"engine {engine}: set {ADDRESS} to the server's address, redis://HOST:PORT or "
            f"rediss://HOST:PORT, without user and password; these are {USER} and "
            f"{RedisConnection.key}"
        )
    return url.rstrip("/")
