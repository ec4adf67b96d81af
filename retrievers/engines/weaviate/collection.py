"""Collections in Weaviate: whole when their description says so."""

import time
from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.servers.collection_store import batch, send
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.engines.weaviate.connection import WeaviateConnection
from assay.retrievers.settings import Settings


class WeaviateBm25Settings(Settings):
    """Weaviate's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)); it does not stem."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    tokenization: Literal[
        "word", "lowercase", "whitespace", "trigram", "gse", "gse_ch", "kagome_ja", "kagome_kr"
    ] = Field(
        "word",
        description=(
            "word splits at all but letters and digits; lowercase at white space; whitespace does "
            "too and keeps capitals; trigram; gse (Chinese, Japanese), gse_ch, kagome_ja and "
            "kagome_kr must be switched on at the server"
        ),
    )
    stop_words: Literal["en", "none"] = Field(
        "en", description="left out of queries, for tokenization word; texts keep them"
    )


class WeaviateIndexSettings(Settings):
    """What a collection is made with."""

    bm25: WeaviateBm25Settings = Field(
        default_factory=WeaviateBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    max_connections: int = Field(32, ge=4, le=2047, description="HNSW: edges of a node")
    ef_construction: int = Field(128, ge=4, description="HNSW: candidates when the graph is built")
    ef: int | None = Field(
        None,
        ge=1,
        description="HNSW: candidates when searching; the engine's is 8 a result, 100 to 500",
    )


PROPERTY = "text"
# Of a random kind by its version, so that it is never taken for none; the last digits count.
FIRST_ID = UUID("00000000-0000-8000-8000-000000000000").int
OBJECTS_PER_BATCH = 200
BYTES_PER_BATCH = 4_000_000
INDEXING_SECONDS = 3600
PAUSE = 0.2


class WeaviateCollectionStore(ServiceStore[WeaviateConnection, WeaviateIndexSettings]):
    """A collection of one object a text, with an identifier that tells its position."""

    def create(self, name: str, note: str) -> None:
        """Make the collection."""
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
        if self._settings.exact:
            index = Configure.VectorIndex.flat(
                distance_metric=VectorDistances.COSINE, quantizer=whole
            )
        else:
            index = Configure.VectorIndex.hnsw(
                distance_metric=VectorDistances.COSINE,
                max_connections=self._settings.max_connections,
                ef_construction=self._settings.ef_construction,
                ef=self._settings.ef or -1,
                quantizer=whole,
            )
        bm25 = self._settings.bm25
        text = Property(
            name=PROPERTY,
            data_type=DataType.TEXT,
            tokenization=Tokenization(bm25.tokenization),
            index_filterable=False,
            index_searchable=True,
        )
        # One shard: the statistics of terms are those of the whole collection.
        options = {
            "description": note,
            "properties": [text],
            "inverted_index_config": Configure.inverted_index(
                bm25_k1=bm25.k1,
                bm25_b=bm25.b,
                stopwords_preset=StopwordsPreset(bm25.stop_words),
            ),
            "vector_config": Configure.Vectors.self_provided(vector_index_config=index),
            "sharding_config": Configure.sharding(desired_count=1),
        }
        self.connection.ask(lambda client: client.collections.create(name, **options))

    def upload(self, name: str) -> None:
        """Put the objects into it, and wait until their vectors are indexed."""
        from weaviate.classes.data import DataObject
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        texts = self._texts
        width = 4 * self.plan.dimensions

        def store(positions: Sequence[int]) -> None:
            objects = [
                DataObject(
                    properties={PROPERTY: texts[position]},
                    uuid=to_id(position),
                    vector=self._vectors[position].tolist(),
                )
                for position in positions
            ]

            def insert(client: Any) -> list[str]:
                """Return why some were not stored."""
                try:
                    result = client.collections.use(name).data.insert_many(objects)
                except WeaviateInsertManyAllFailedError as error:
                    return [str(error)] * len(objects)
                return [error.message for error in result.errors.values()]

            if errors := self.connection.ask(insert):
                raise AssayError(
                    f"weaviate at {self.connection.url}: {len(errors)} texts were not stored, the "
                    f"first for: {' '.join(errors[0].split())[:200]}"
                )

        send(
            batch(
                self.track(range(len(texts))),
                OBJECTS_PER_BATCH,
                lambda i: width + 4 * len(texts[i]),
                BYTES_PER_BATCH,
            ),
            store,
        )
        self.check_stored(name, self.connection.count(name))
        self._await_indexing(name)

    def _await_indexing(self, name: str) -> None:
        """Wait until no vector waits to be indexed."""
        until = time.monotonic() + INDEXING_SECONDS
        while True:
            nodes = self.connection.ask(
                lambda client: client.cluster.nodes(collection=name, output="verbose")
            )
            shards = [shard for node in nodes for shard in node.shards]
            waiting = sum(shard.vector_queue_length for shard in shards)
            if not waiting and all(shard.vector_indexing_status != "INDEXING" for shard in shards):
                return
            if time.monotonic() > until:
                raise AssayError(
                    f"weaviate at {self.connection.url}: {name}: the server did not finish "
                    f"indexing: {waiting} vectors wait"
                )
            time.sleep(PAUSE)


def to_id(position: int) -> UUID:
    """Return the identifier of the object with the text at a position."""
    return UUID(int=FIRST_ID + position)


def to_position(identifier: UUID) -> int:
    """Return the position of the text whose object has this identifier."""
    return identifier.int - FIRST_ID
