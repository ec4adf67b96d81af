"""Chroma: vectors alone, in an HNSW graph."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.chroma.collection import (
    DATABASE,
    NAME,
    OpenIndex,
    build_collection,
    open_client,
    open_collection,
)
from assay.retrievers.engines.chroma.settings import ChromaCollectionSettings
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles, LiveRows
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection as Records


class ChromaSettings(ChromaCollectionSettings):
    """Chroma, in this process: vectors alone, in an HNSW graph; fused here with other legs."""

    def build(self, resources: Resources) -> "ChromaEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `chroma` is not installed.
        """
        return ChromaEngine(self, resources)


class ChromaEngine(EmbeddedEngine[ChromaSettings, OpenIndex]):
    """A collection whose records have a text's position as id, opened in a copy of its own."""

    @property
    def formula(self) -> Formula:
        """The cosine."""
        return COSINE

    def open_live(self, dimensions: int) -> LiveRows:
        """Return rows of a collection, found by its graph."""
        return open_rows(self._settings)

    @property
    def _exact(self) -> bool:
        return False

    def _shape(self) -> Sequence[Any]:
        return [self._settings.m, self._settings.ef_construction]

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

    def _open_bare(self, opened: OpenIndex) -> BareClient:
        """Return the collection itself: a second client of its files would be the same."""

        def dense(vector: Vectors, limit: int) -> Request:
            query, most = vector[None], min(limit, self._texts)

            def ask() -> object:
                found = opened.collection.query(
                    query_embeddings=query, n_results=most, include=["distances"]
                )
                return list(zip(found["ids"][0], found["distances"][0], strict=True))

            return ask

        return BareClient(dense, None, lambda: None)


@dataclass
class ChromaRows(LiveFiles):
    """A collection with its graph, which Chroma keeps up as it comes to it."""

    client: "ClientAPI"
    records: "Records"

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows, or replace them."""
        self.records.upsert(ids=[str(id_) for id_ in ids], embeddings=vectors)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        self.records.delete(ids=[str(id_) for id_ in ids])

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows that the graph leads to."""
        found = self.records.query(
            query_embeddings=vector[None], n_results=limit, include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return ordered((int(id_), 1 - far) for id_, far in pairs)

    def release(self) -> None:
        """Close the client."""
        self.client.close()


def open_rows(settings: ChromaCollectionSettings) -> ChromaRows:
    """Return an empty collection."""
    folder = OwnFolder("chroma")
    try:
        client = open_client(folder.path / DATABASE)
        graph: Any = {
            "space": "cosine",
            "max_neighbors": settings.m,
            "ef_construction": settings.ef_construction,
            "ef_search": settings.ef,
        }
        records = client.create_collection(
            NAME, embedding_function=None, configuration={"hnsw": graph}
        )
    except BaseException:
        folder.close()
        raise
    return ChromaRows(client, records, folder=folder)
