"""Collections in Qdrant: whole when their alias stands."""

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.qdrant.connection import GoneError, QdrantConnection
from assay.retrievers.engines.qdrant.settings import QdrantStoreSettings
from assay.retrievers.engines.qdrant.shard import make_embedder, measure_terms
from assay.retrievers.engines.servers.collection_store import (
    Collection,
    VectorStore,
    batch,
    send,
)
from assay.retrievers.engines.servers.servers import ConnectedServer, StoredIndex

if TYPE_CHECKING:
    from qdrant_client import models


# The least that the server takes for the size, in kB, from which on a graph is built and used.
SMALLEST_GRAPH = 10
POINTS_PER_UPDATE = 500
OPTIMISING_SECONDS = 3600
# The server takes no request of more than 32 MB unless told otherwise.
BYTES_PER_UPDATE = 8_000_000
BYTES_PER_NUMBER = 25  # of JSON, at most, with what separates it from the next
PAUSE = 0.2


class QdrantCollectionStore(VectorStore[QdrantConnection, QdrantStoreSettings]):
    """A collection of one point a text, its position as id, with what the `settings` say."""

    engine = "qdrant"

    def find(self) -> Collection | None:
        """Return the collection for which the alias stands, if it is whole.

        Where another process replaces it meanwhile, the alias stands for that one's.
        """
        gone = None
        while (collection := read_aliases(self.connection).get(self.plan.name)) not in (None, gone):
            try:
                return self._read(collection)
            except GoneError:
                gone = collection
        return None

    def _read(self, collection: str) -> Collection | None:
        name = self.plan.name
        note = read_note(self.connection, collection)
        if note is None:
            raise AssayError(f"{self.describe(name)} was not made by Assay; remove or rename it")
        self.check_note(name, note)
        return Collection(name, note) if self._count(collection) == self.plan.texts else None

    def fill(self, name: str) -> dict[str, Any]:
        """Return the mean number of terms of a text, by which the terms are weighted."""
        average = measure_terms(self._texts, self._settings.bm25)
        self._create(name)
        self._upload(name, average)
        self._wait(name)
        return {"average_terms": average}

    def mark_whole(self, name: str, note: dict[str, Any]) -> None:
        """Note what is in the collection, let the alias stand for it, and drop the one before."""
        from qdrant_client import models

        self.connection.ask(lambda client: client.update_collection(name, metadata={NOTE: note}))
        alias = self.plan.name
        before = read_aliases(self.connection).get(alias)
        drop = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
        )
        operations = [drop, create] if before else [create]
        self.connection.ask(lambda client: client.update_collection_aliases(operations))
        if before:
            self.connection.drop(before)

    def drop(self, name: str) -> None:
        """Remove it."""
        self.connection.drop(name)

    def _create(self, name: str) -> None:
        from qdrant_client import models

        # One shard: the statistics of terms are those of the whole collection. A node without edges
        # makes no graph.
        graph = models.HnswConfigDiff(
            m=0 if self._settings.exact else self._settings.m,
            ef_construct=self._settings.ef_construct,
            full_scan_threshold=SMALLEST_GRAPH,
        )
        size = models.VectorParams(size=self.plan.dimensions, distance=models.Distance.COSINE)
        terms = models.SparseVectorParams(modifier=models.Modifier.IDF)
        optimising = models.OptimizersConfigDiff(
            indexing_threshold=0 if self._settings.exact else SMALLEST_GRAPH
        )
        self.connection.ask(
            lambda client: client.create_collection(
                name,
                vectors_config={"dense": size},
                sparse_vectors_config={"keyword": terms},
                hnsw_config=graph,
                optimizers_config=optimising,
                shard_number=1,
                metadata={NOTE: self.plan.describe()},
            )
        )

    def _upload(self, name: str, average: float) -> None:
        from qdrant_client import models

        embedder = make_embedder(self._settings.bm25, max(average, 1.0))

        def make_point(position: int) -> "models.PointStruct":
            terms = embedder.embed_document(self._texts[position])
            vector: dict[str, Any] = {"dense": self._vectors[position].tolist()}
            if terms.indices:
                vector["keyword"] = models.SparseVector(indices=terms.indices, values=terms.values)
            return models.PointStruct(id=position, vector=vector)

        def store(positions: Sequence[int]) -> None:
            points = [make_point(position) for position in positions]
            self.connection.ask(lambda client: client.upsert(name, points, wait=True))

        width = self.plan.dimensions * BYTES_PER_NUMBER
        positions = self.track(range(len(self._texts)))
        # A term and its weight take about as many bytes as two numbers, and a word of five letters.
        send(
            batch(
                positions,
                POINTS_PER_UPDATE,
                lambda i: width + 10 * len(self._texts[i]),
                BYTES_PER_UPDATE,
            ),
            store,
        )
        self.check_stored(name, self._count(name))

    def _count(self, name: str) -> int:
        return int(self.connection.ask(lambda client: client.count(name, exact=True)).count)

    def _wait(self, name: str) -> None:
        """Wait until the server has merged and indexed what it was given."""
        until = time.monotonic() + OPTIMISING_SECONDS
        quiet = 0
        while quiet < 2:  # it may be green once before it begins
            info = self.connection.ask(lambda client: client.get_collection(name))
            if info.status == "red" or time.monotonic() > until:
                raise AssayError(
                    f"qdrant at {self.connection.url}: {name}: the server did not finish indexing: "
                    f"status {info.status}, {info.optimizer_status}"
                )
            quiet = quiet + 1 if info.status == "green" else 0
            time.sleep(PAUSE)


NAME = re.compile(r"assay_[0-9a-f]{16}(_[0-9a-f]{8})?")
NOTE = "assay"
FIELDS = {"key", "identity", "dimensions", "created"}


class QdrantServer(ConnectedServer[QdrantConnection]):
    """The collections in Qdrant that bear this project's note."""

    def read_version(self) -> str:
        """Return the server's version."""
        return self._connection.read_version()

    def list_stored(self) -> list[StoredIndex]:
        """Return them by alias, and by their own name where no alias stands."""
        aliases = {name: alias for alias, name in read_aliases(self._connection).items()}
        found = self._connection.ask(lambda client: client.get_collections()).collections
        stored = []
        for collection in [each.name for each in found if NAME.fullmatch(each.name)]:
            try:
                note = read_note(self._connection, collection)
            except GoneError:
                continue
            if note is None:
                continue
            alias = aliases.get(collection)
            count = int(note.get("texts", 0)) if alias else 0
            created = str(note.get("created", ""))
            stored.append(StoredIndex(alias or collection, count, created=created))
        return sorted(stored, key=lambda each: each.name)

    def drop(self, name: str) -> None:
        """Remove the collection, or that for which the alias stands, which goes with it."""
        collection = read_aliases(self._connection).get(name, name)
        found = self._connection.ask(lambda client: client.get_collections()).collections
        there = collection in {each.name for each in found}
        if not NAME.fullmatch(name) or (there and read_note(self._connection, collection) is None):
            raise AssayError(f"qdrant at {self.url}: {name}: no collection that Assay made")
        self._connection.drop(collection)


def read_note(connection: QdrantConnection, collection: str) -> dict[str, Any] | None:
    """Return what this project noted of a collection; None of one that it did not make."""
    info = connection.ask(lambda client: client.get_collection(collection))
    note = (info.config.metadata or {}).get(NOTE)
    return note if isinstance(note, dict) and note.keys() >= FIELDS else None


def read_aliases(connection: QdrantConnection) -> dict[str, str]:
    """Return the collection for which each alias stands."""
    found = connection.ask(lambda client: client.get_aliases()).aliases
    return {each.alias_name: each.collection_name for each in found}
