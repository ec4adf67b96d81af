"""Milvus Lite: Milvus' protocol over a folder of files, searched in Python in this process."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.declarative import StatedAdapter
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.milvus.collection import (
    MOST_LISTED,
    ask_client,
    create_collection,
    make_rows,
    search_both,
    search_dense,
    search_keyword,
)
from assay.retrievers.engines.milvus.settings import MilvusIndexSettings
from assay.retrievers.engines.raw_client import BareClient
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from pymilvus import MilvusClient

DATABASE = "milvus.db"
COLLECTION = "texts"


class MilvusLiteSettings(MilvusIndexSettings):
    """Milvus Lite, in this process: both lists searched and fused in Python, as Milvus does it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "client",
        approximate=("hnsw",),
        extra="milvus",
        modules=("pymilvus", "milvus_lite"),
        packages=("milvus-lite", "pymilvus"),
        restricts=True,
    )
    type: Literal["milvus-lite"] = "milvus-lite"

    def build(self, resources: Resources) -> "MilvusLiteEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `milvus` is not installed.
        """
        return MilvusLiteEngine(self, resources)


class OpenIndex(NamedTuple):
    """A client of an open database, and the folder of this process in which that lies."""

    client: "MilvusClient"
    path: Path
    copy: OwnFolder


class MilvusLiteEngine(
    StatedAdapter[MilvusLiteSettings, OpenIndex], EmbeddedEngine[MilvusLiteSettings, OpenIndex]
):
    """A collection in a folder, which one process may open: each works on a copy of its own."""

    _most_listed = MOST_LISTED

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        path = folder / DATABASE
        client = start(path)
        try:
            create_collection(client, COLLECTION, vectors.shape[1], self._settings)
            for rows in make_rows(self._track(len(texts)), texts, vectors):
                client.insert(COLLECTION, rows)
            client.flush(COLLECTION)
        finally:
            stop(client, path)

    def _open(self, folder: Path) -> OpenIndex:
        copy = OwnFolder("milvus-lite")
        path = copy.path / DATABASE
        try:
            shutil.copytree(folder / DATABASE, path)
            client = start(path)
        except BaseException:
            copy.close()
            raise
        opened = OpenIndex(client, path, copy)
        try:
            client.load_collection(COLLECTION)
        except BaseException:
            self._release(opened)
            raise
        return opened

    def _release(self, opened: OpenIndex) -> None:
        stop(opened.client, opened.path)
        opened.copy.close()

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        listed = self._list_fewer()
        return search_dense(opened.client, COLLECTION, vector, limit, self._settings, listed)

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        return search_keyword(opened.client, COLLECTION, text, limit, self._list_fewer())

    def _search_hybrid(
        self, opened: OpenIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: how ties are broken is not documented."""
        listed = self._list_fewer()
        return search_both(opened.client, COLLECTION, text, vector, self._settings, listed)

    def _open_bare(self, opened: OpenIndex) -> BareClient:
        """Return a client of its own on the database, which stays open."""
        return ask_client(connect(opened.path), COLLECTION, self._settings)


def start(path: Path) -> "MilvusClient":
    """Return a client of the database at `path`, which is served to this process alone.

    Raises AssayError where it cannot be served; what was wrong is only in the package's log.
    """
    quiet()
    return connect(path)


def connect(path: Path) -> "MilvusClient":
    """Return one more client of the database at `path`."""
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import MilvusClient

    address = server_manager_instance.start_and_get_uri(str(path))
    if address is None:
        raise AssayError(f"milvus-lite: {path}: the database cannot be opened")
    return MilvusClient(address, dedicated=True)


def stop(client: "MilvusClient", path: Path) -> None:
    """Close a client and its database; may be called twice."""
    from milvus_lite.server_manager import server_manager_instance

    client.close()
    server_manager_instance.release_server(str(path))


def quiet() -> None:
    """Keep what the packages log of each failed call, which they also raise, from the terminal."""
    for name in ("milvus_lite", "pymilvus"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
