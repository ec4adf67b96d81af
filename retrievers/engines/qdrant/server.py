"""What this project keeps on a Qdrant server: collections that bear its note."""

import re
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.qdrant.connection import GoneError, QdrantConnection
from assay.retrievers.engines.servers.servers import ConnectedServer, StoredIndex

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
