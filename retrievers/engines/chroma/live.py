"""Rows in Chroma: a collection whose records have a label among their metadata."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.chroma.collection import DATABASE, NAME, open_client
from assay.retrievers.engines.chroma.settings import ChromaCollectionSettings
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection as Records


@dataclass
class ChromaRows(LiveFiles):
    """A collection with its graph, which Chroma keeps up as it comes to it."""

    client: "ClientAPI"
    records: "Records"

    def put(self, ids: Sequence[int], vectors: Vectors, labels: Sequence[str]) -> None:
        """Add rows, or replace them."""
        self.records.upsert(
            ids=[str(id_) for id_ in ids],
            embeddings=vectors,
            metadatas=[{"label": label} for label in labels],
        )

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        self.records.delete(ids=[str(id_) for id_ in ids])

    def search(self, vector: Vectors, limit: int, labels: Collection[str] = ()) -> list[Scored]:
        """Return the nearest rows with any of `labels` that the graph leads to."""
        where: dict[str, Any] | None = {"label": {"$in": list(labels)}} if labels else None
        found = self.records.query(
            query_embeddings=vector[None], n_results=limit, where=where, include=["distances"]
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
