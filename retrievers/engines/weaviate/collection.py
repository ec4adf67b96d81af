"""Collections in Weaviate: whole when their description says so."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from retrievers.base import AssayError
from retrievers.engines.servers import CollectionPlan
from retrievers.engines.weaviate.connection import WeaviateConnection
from retrievers.engines.weaviate.server import MADE_BY, name_of_index, read_notes
from retrievers.engines.weaviate.settings import WeaviateIndexSettings
from retrievers.models.base import Vectors

PROPERTY = "text"
# Of a random kind by its version, so that it is never taken for none; the last digits count.
FIRST_ID = UUID("00000000-0000-8000-8000-000000000000").int
OBJECTS_PER_BATCH = 200
BYTES_PER_BATCH = 4_000_000
INDEXING_SECONDS = 3600
PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Opened:
    """A collection that is whole: its name, the seconds it took, if it was there before."""

    collection: str
    seconds: float
    cached: bool


def open_collection(
    connection: WeaviateConnection,
    plan: CollectionPlan,
    settings: WeaviateIndexSettings,
    texts: Sequence[str],
    vectors: Vectors,
) -> Opened:
    """Find the collection of `plan` on the server, or make it of `texts` and `vectors`.

    Raises AssayError for one of that name that this must not replace.
    """
    if opened := _find(connection, plan):
        return opened
    collection = f"{plan.name.capitalize()}_{token_hex(4)}"
    begin = time.perf_counter()
    try:
        _create(connection, collection, plan, settings)
        _fill(connection, collection, texts, vectors)
        _wait(connection, collection)
        if other := _find(connection, plan):  # another process has been faster
            connection.drop(collection)
            return other
        seconds = time.perf_counter() - begin
        note = json.dumps(_note(plan) | {"complete": True, "seconds": seconds})
        connection.ask(
            lambda client: client.collections.use(collection).config.update(description=note)
        )
    except BaseException:
        with suppress(AssayError):
            connection.drop(collection)
        raise
    return Opened(collection, seconds, cached=False)


def to_position(identifier: UUID) -> int:
    """Return the position of the text whose object has this identifier."""
    return identifier.int - FIRST_ID


def _find(connection: WeaviateConnection, plan: CollectionPlan) -> Opened | None:
    """Return the collection if it is there and whole; one that lost texts is removed."""
    for collection, note in sorted(read_notes(connection).items()):
        if not note["complete"] or name_of_index(collection) != plan.name:
            continue
        where = f"weaviate at {connection.url}: the collection {collection}"
        if note["dimensions"] != plan.dimensions:
            raise AssayError(
                f"{where} has vectors of {note['dimensions']} dimensions, these have "
                f"{plan.dimensions}; remove it"
            )
        if note["identity"] != plan.identity or note["key"] != plan.key:
            raise AssayError(f"{where} has the vectors of another model or other texts; remove it")
        if _count(connection, collection) == plan.texts:
            return Opened(collection, float(note.get("seconds", 0)), cached=True)
        connection.drop(collection)
    return None


def _note(plan: CollectionPlan) -> dict[str, Any]:
    return {
        "made_by": MADE_BY,
        "key": plan.key,
        "identity": plan.identity,
        "dimensions": plan.dimensions,
        "texts": plan.texts,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "complete": False,
    }


def _create(
    connection: WeaviateConnection,
    collection: str,
    plan: CollectionPlan,
    settings: WeaviateIndexSettings,
) -> None:
    from weaviate.classes.config import (
        Configure,
        DataType,
        Property,
        StopwordsPreset,
        Tokenization,
        VectorDistances,
    )

    # The server may compress vectors unless told otherwise.
    whole = Configure.VectorIndex.Quantizer.none()
    if settings.exact:
        index = Configure.VectorIndex.flat(distance_metric=VectorDistances.COSINE, quantizer=whole)
    else:
        index = Configure.VectorIndex.hnsw(
            distance_metric=VectorDistances.COSINE,
            max_connections=settings.max_connections,
            ef_construction=settings.ef_construction,
            ef=settings.ef or -1,
            quantizer=whole,
        )
    bm25 = settings.bm25
    text = Property(
        name=PROPERTY,
        data_type=DataType.TEXT,
        tokenization=Tokenization(bm25.tokenization),
        index_filterable=False,
        index_searchable=True,
    )
    # One shard: the statistics of terms are those of the whole collection.
    options = {
        "description": json.dumps(_note(plan)),
        "properties": [text],
        "inverted_index_config": Configure.inverted_index(
            bm25_k1=bm25.k1,
            bm25_b=bm25.b,
            stopwords_preset=StopwordsPreset(bm25.stop_words),
        ),
        "vector_config": Configure.Vectors.self_provided(vector_index_config=index),
        "sharding_config": Configure.sharding(desired_count=1),
    }
    connection.ask(lambda client: client.collections.create(collection, **options))


def _fill(
    connection: WeaviateConnection, collection: str, texts: Sequence[str], vectors: Vectors
) -> None:
    """Store one object a text, with an identifier that tells its position."""
    from weaviate.classes.data import DataObject
    from weaviate.exceptions import WeaviateInsertManyAllFailedError

    for positions in _batch(texts):
        objects = [
            DataObject(
                properties={PROPERTY: texts[position]},
                uuid=UUID(int=FIRST_ID + position),
                vector=vectors[position].tolist(),
            )
            for position in positions
        ]

        def insert(client: Any, objects: Any = objects) -> list[str]:
            """Return why some were not stored."""
            try:
                result = client.collections.use(collection).data.insert_many(objects)
            except WeaviateInsertManyAllFailedError as error:
                return [str(error)] * len(objects)
            return [error.message for error in result.errors.values()]

        if errors := connection.ask(insert):
            raise AssayError(
                f"weaviate at {connection.url}: {len(errors)} texts were not stored, the first "
                f"for: {' '.join(errors[0].split())[:200]}"
            )
    if (stored := _count(connection, collection)) != len(texts):
        raise AssayError(
            f"weaviate at {connection.url}: {collection}: {stored} of {len(texts)} texts are stored"
        )


def _batch(texts: Sequence[str]) -> Iterator[range]:
    """Yield the positions of texts that fit into one request together."""
    begin, size = 0, 0
    for position, text in enumerate(texts):
        if position - begin == OBJECTS_PER_BATCH or size + len(text) > BYTES_PER_BATCH:
            if position > begin:
                yield range(begin, position)
            begin, size = position, 0
        size += len(text)
    yield range(begin, len(texts))


def _count(connection: WeaviateConnection, collection: str) -> int:
    answer = connection.ask(
        lambda client: client.collections.use(collection).aggregate.over_all(total_count=True)
    )
    return int(answer.total_count or 0)


def _wait(connection: WeaviateConnection, collection: str) -> None:
    """Wait until no vector waits to be indexed."""
    until = time.monotonic() + INDEXING_SECONDS
    while True:
        nodes = connection.ask(
            lambda client: client.cluster.nodes(collection=collection, output="verbose")
        )
        shards = [shard for node in nodes for shard in node.shards]
        waiting = sum(shard.vector_queue_length for shard in shards)
        if not waiting and all(shard.vector_indexing_status != "INDEXING" for shard in shards):
            return
        if time.monotonic() > until:
            raise AssayError(
                f"weaviate at {connection.url}: {collection}: the server did not finish indexing: "
                f"{waiting} vectors wait"
            )
        time.sleep(PAUSE)
