"""Engines that are servers: a collection there, named for its content, is found or made."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple

from assay.retrievers.engines.adapter import Adapter, S, StoredIndex
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan
from assay.retrievers.engines.servers.servers import C, name_index
from assay.retrievers.models.base import Vectors


class OpenIndex(NamedTuple, Generic[C]):
    """A collection on a server: who asks it, and by what name."""

    connection: C
    name: str


class ServerEngine(Adapter[S, OpenIndex[C]], Generic[S, C]):
    """A collection that stays on the server when the engine is closed."""

    def _store(
        self, texts: Sequence[str], vectors: Vectors, identity: str
    ) -> tuple[OpenIndex[C], StoredIndex]:
        key = self._key(texts, identity)
        plan = CollectionPlan(self._name(key), key, identity, *vectors.shape)
        connection = self._connect()
        try:
            self._facts |= {"version": self._read_version(connection), "index": plan.name}
            found = self._open(connection, plan, texts, vectors)
        except BaseException:
            connection.close()
            raise
        stored = StoredIndex(found.seconds, found.bytes, found.cached)
        return OpenIndex(connection, found.name), stored

    def _release(self, opened: OpenIndex[C]) -> None:
        opened.connection.close()

    def _name(self, key: str) -> str:
        """Return the name of the index whose content has the digest `key`."""
        return name_index(key)

    @abstractmethod
    def _connect(self) -> C:
        """Return connections to the server. Raises AssayError."""

    @abstractmethod
    def _read_version(self, connection: C) -> str:
        """Return the server's version. Raises AssayError where it cannot do what is asked."""

    @abstractmethod
    def _open(
        self, connection: C, plan: CollectionPlan, texts: Sequence[str], vectors: Vectors
    ) -> Collection:
        """Find the collection, or make it."""
