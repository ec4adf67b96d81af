"""Chroma: vectors alone, in an HNSW graph."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from assay.retrievers.engines.adapter import AdapterSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import COSINE, Formula
from assay.retrievers.engines.servers.collections import batch
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection


class ChromaSettings(AdapterSettings):
    """Chroma, in this process: vectors alone, in an HNSW graph; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        approximate=("hnsw",),
        lists=("dense",),
        exact=False,
        extra="chroma",
        modules=("chromadb",),
        packages=("chromadb",),
        restricts=True,
    )
    type: Literal["chroma"]
    m: int = Field(
        16,
        ge=2,
        le=256,
        description="HNSW: edges of a node, at its lowest level twice as many; max_neighbors",
    )
    ef_construction: int = Field(
        100, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef: int = Field(
        100,
        ge=1,
        description="HNSW: candidates when searching; ef_search. Exact search there is none",
    )

    def make_formula(self) -> Formula:
        """Return the description of the dense list."""
        return COSINE

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.m, self.ef_construction]

    def is_exact(self, texts: int) -> bool:
        """Search is always approximate."""
        return False

    def build(self, resources: Resources) -> "ChromaEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `chroma` is not installed.
        """
        return ChromaEngine(self, resources)


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
    path: Path, positions: Iterable[int], vectors: Vectors, settings: ChromaSettings
) -> None:
    """Make a database with one record per vector, its row as id, all of them in the graph.

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


class ChromaEngine(EmbeddedEngine[ChromaSettings, OpenIndex]):
    """A collection whose records have a text's position as id, opened in a copy of its own."""

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_collection(folder / DATABASE, self._track(len(vectors)), vectors, self._settings)

    def _open(self, folder: Path) -> OpenIndex:
        copy = OwnFolder("chroma")
        try:
            shutil.copytree(folder / DATABASE, copy.path / DATABASE)
            return open_collection(copy, self._settings.ef)
        except BaseException:
            copy.close()
            raise

    def _release(self, opened: OpenIndex) -> None:
        opened.client.close()
        opened.copy.close()

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        allowed = None if self._allowed is None else list(map(str, self._allowed.tolist()))
        found = opened.collection.query(
            query_embeddings=vector[None],
            n_results=min(limit, self._texts if allowed is None else len(allowed)),
            ids=allowed,
            include=["distances"],
        )
        ids, distances = found["ids"][0], found["distances"][0]
        return [(int(id_), 1 - far) for id_, far in zip(ids, distances, strict=True)]
