"""Collections in Qdrant: filled under a name of their own, whole when their alias stands."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from retrievers.base import AssayError
from retrievers.engines.qdrant.connection import QdrantConnection
from retrievers.engines.qdrant.server import NOTE, read_aliases, read_note
from retrievers.engines.qdrant.settings import QdrantStoreSettings
from retrievers.engines.qdrant.shard import POINTS_PER_UPDATE, make_embedder, measure_terms
from retrievers.engines.servers import CollectionPlan
from retrievers.models.base import Vectors

if TYPE_CHECKING:
    from qdrant_client import models

# The least that the server takes for the size, in kB, from which on a graph is built and used.
SMALLEST_GRAPH = 10
OPTIMISING_SECONDS = 3600
PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Opened:
    """A collection that is whole: mean terms of a text, seconds it took, if it was there before."""

    average_terms: float
    seconds: float
    cached: bool


def open_collection(
    connection: QdrantConnection,
    plan: CollectionPlan,
    settings: QdrantStoreSettings,
    texts: Sequence[str],
    vectors: Vectors,
) -> Opened:
    """Find the collection of `plan` on the server, or make it of `texts` and `vectors`.

    Raises AssayError for one of that name that this must not replace.
    """
    if opened := _find(connection, plan):
        return opened
    collection = f"{plan.name}_{token_hex(4)}"
    begin = time.perf_counter()
    try:
        average = measure_terms(texts, settings.bm25)
        _create(connection, collection, plan, settings)
        _fill(connection, collection, settings, average, texts, vectors)
        _wait(connection, collection)
        done = {"texts": len(texts), "average_terms": average}
        note = {NOTE: _note(plan) | done | {"seconds": time.perf_counter() - begin}}
        connection.ask(lambda client: client.update_collection(collection, metadata=note))
        other = _find(connection, plan)  # another process may have been faster
        if other is None:
            _publish(connection, collection, plan.name)
    except BaseException:
        with suppress(AssayError):
            connection.drop(collection)
        raise
    if other:
        connection.drop(collection)
        return other
    return Opened(average, time.perf_counter() - begin, cached=False)


def _find(connection: QdrantConnection, plan: CollectionPlan) -> Opened | None:
    """Return the collection if it is there and whole."""
    collection = read_aliases(connection).get(plan.name)
    if collection is None:
        return None
    note = read_note(connection, collection)
    where = f"qdrant at {connection.url}: the collection {plan.name}"
    if note is None:
        raise AssayError(f"{where} was not made by Assay; remove or rename it")
    if note["dimensions"] != plan.dimensions:
        raise AssayError(
            f"{where} has vectors of {note['dimensions']} dimensions, these have "
            f"{plan.dimensions}; remove it"
        )
    if note["identity"] != plan.identity or note["key"] != plan.key:
        raise AssayError(f"{where} has the vectors of another model or other texts; remove it")
    count = connection.ask(lambda client: client.count(collection, exact=True)).count
    if count != plan.texts:
        return None
    return Opened(float(note.get("average_terms", 0)), float(note.get("seconds", 0)), cached=True)


def _create(
    connection: QdrantConnection,
    collection: str,
    plan: CollectionPlan,
    settings: QdrantStoreSettings,
) -> None:
    from qdrant_client import models

    # One shard: the statistics of terms are those of the whole collection. A node without edges
    # makes no graph.
    graph = models.HnswConfigDiff(
        m=0 if settings.exact else settings.m,
        ef_construct=settings.ef_construct,
        full_scan_threshold=SMALLEST_GRAPH,
    )
    size = models.VectorParams(size=plan.dimensions, distance=models.Distance.COSINE)
    terms = models.SparseVectorParams(modifier=models.Modifier.IDF)
    optimising = models.OptimizersConfigDiff(
        indexing_threshold=0 if settings.exact else SMALLEST_GRAPH
    )
    connection.ask(
        lambda client: client.create_collection(
            collection,
            vectors_config={"dense": size},
            sparse_vectors_config={"keyword": terms},
            hnsw_config=graph,
            optimizers_config=optimising,
            shard_number=1,
            metadata={NOTE: _note(plan)},
        )
    )


def _fill(
    connection: QdrantConnection,
    collection: str,
    settings: QdrantStoreSettings,
    average: float,
    texts: Sequence[str],
    vectors: Vectors,
) -> None:
    """Store one point a text, its position as id."""
    from qdrant_client import models

    embedder = make_embedder(settings.bm25, max(average, 1.0))

    def make_point(position: int) -> "models.PointStruct":
        terms = embedder.embed_document(texts[position])
        vector: dict[str, Any] = {"dense": vectors[position].tolist()}
        if terms.indices:
            vector["keyword"] = models.SparseVector(indices=terms.indices, values=terms.values)
        return models.PointStruct(id=position, vector=vector)

    def store(points: Sequence[Any]) -> None:
        connection.ask(lambda client: client.upsert(collection, points, wait=True))

    for begin in range(0, len(texts), POINTS_PER_UPDATE):
        end = min(begin + POINTS_PER_UPDATE, len(texts))
        store([make_point(position) for position in range(begin, end)])
    stored = connection.ask(lambda client: client.count(collection, exact=True)).count
    if stored != len(texts):
        raise AssayError(
            f"qdrant at {connection.url}: {collection}: {stored} of {len(texts)} texts are stored"
        )


def _wait(connection: QdrantConnection, collection: str) -> None:
    """Wait until the server has merged and indexed what it was given."""
    until = time.monotonic() + OPTIMISING_SECONDS
    quiet = 0
    while quiet < 2:  # it may be green once before it begins
        info = connection.ask(lambda client: client.get_collection(collection))
        if info.status == "red" or time.monotonic() > until:
            raise AssayError(
                f"qdrant at {connection.url}: {collection}: the server did not finish indexing: "
                f"status {info.status}, {info.optimizer_status}"
            )
        quiet = quiet + 1 if info.status == "green" else 0
        time.sleep(PAUSE)


def _publish(connection: QdrantConnection, collection: str, alias: str) -> None:
    """Let the alias stand for `collection`, and remove what it stood for before."""
    from qdrant_client import models

    before = read_aliases(connection).get(alias)
    drop = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
    create = models.CreateAliasOperation(
        create_alias=models.CreateAlias(collection_name=collection, alias_name=alias)
    )
    operations = [drop, create] if before else [create]
    connection.ask(lambda client: client.update_collection_aliases(operations))
    if before:
        connection.drop(before)


def _note(plan: CollectionPlan) -> dict[str, Any]:
    return {
        "key": plan.key,
        "identity": plan.identity,
        "dimensions": plan.dimensions,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
