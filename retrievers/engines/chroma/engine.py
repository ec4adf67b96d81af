"""Chroma: vectors alone, in an HNSW graph."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.retrievers.engines.chroma.collection import (
    DATABASE,
    OpenIndex,
    build_collection,
    open_collection,
)
from assay.retrievers.engines.chroma.live import open_rows
from assay.retrievers.engines.chroma.settings import ChromaCollectionSettings
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources


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
        found = opened.collection.query(
            query_embeddings=vector[None], n_results=min(limit, self._texts), include=["distances"]
        )
        ids, distances = found["ids"][0], found["distances"][0]
        return ordered((int(id_), 1 - far) for id_, far in zip(ids, distances, strict=True))

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
