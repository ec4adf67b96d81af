"""Building and opening a collection of Chroma, in files of this process."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.retrievers.engines.chroma.settings import ChromaCollectionSettings
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

DATABASE = "database"
NAME = "texts"
BATCH = 1000
# What the engine keeps apart from the graph, and compares with one by one, until it is full; the
# engine takes no smaller ones.
BUFFER = 2


class OpenIndex(NamedTuple):
    """A collection, its client, and the copy of the files that it is in."""

    collection: "Collection"
    client: "ClientAPI"
    copy: OwnFolder


def open_client(path: Path) -> "ClientAPI":
    """Return a client of the database at `path`, whatever the environment or a .env file says.

    It talks to no server and sends no telemetry.
    """
    import chromadb
    from chromadb.config import Settings

    settings = Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        chroma_otel_collection_endpoint="",
        chroma_server_host=None,
    )
    return chromadb.PersistentClient(path, settings=settings)


def build_collection(
    path: Path, positions: Iterable[int], vectors: Vectors, settings: ChromaCollectionSettings
) -> None:
    """Make a database with one record a vector, its row as id, all of them in the graph.

    The texts stay out: the engine can only filter by them.
    """
    client = open_client(path)
    try:
        collection = client.create_collection(
            NAME,
            embedding_function=None,
            configuration={
                "hnsw": {
                    "space": "cosine",
                    "max_neighbors": settings.m,
                    "ef_construction": settings.ef_construction,
                    "num_threads": 1,  # of several, each adds to the graph what it happens to have
                    "batch_size": BUFFER,
                    "sync_threshold": max(BUFFER, len(vectors)),
                }
            },
        )
        for chosen in batch(positions, BATCH):
            collection.add(ids=list(map(str, chosen)), embeddings=vectors[chosen])
        collection.query(query_embeddings=vectors[:1], n_results=1, include=[])  # waits for all
    finally:
        client.close()


def open_collection(copy: OwnFolder, ef: int) -> OpenIndex:
    """Open the collection in a copy of its files: the engine writes wherever it opens."""
    client = open_client(copy.path / DATABASE)
    try:
        collection = client.get_collection(NAME, embedding_function=None)
        collection.modify(configuration={"hnsw": {"ef_search": ef}})
    except BaseException:
        client.close()
        raise
    return OpenIndex(collection, client, copy)
