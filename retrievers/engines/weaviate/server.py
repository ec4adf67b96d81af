"""What this project keeps on a Weaviate server: collections whose description is its note."""

import json
import re
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.servers.servers import ConnectedServer, StoredIndex, is_index_name
from assay.retrievers.engines.weaviate.connection import WeaviateConnection

# Weaviate's names begin with a capital letter.
NAME = re.compile(r"Assay_[0-9a-f]{16}_[0-9a-f]{8}")
MADE_BY = "assay"
FIELDS = {"key", "identity", "dimensions", "texts", "created", "complete"}


class WeaviateServer(ConnectedServer[WeaviateConnection]):
    """The collections in Weaviate whose description is this project's note."""

    def read_version(self) -> str:
        """Return the server's version."""
        return self._connection.read_version()

    def list_stored(self) -> list[StoredIndex]:
        """Return them by the name of the index, and by their own name where they are not whole."""
        stored = [
            StoredIndex(name_of_index(collection), note["texts"], created=note["created"])
            if note["complete"]
            else StoredIndex(_lower(collection), 0, created=note["created"])
            for collection, note in read_notes(self._connection).items()
        ]
        return sorted(stored, key=lambda each: each.name)

    def drop(self, name: str) -> None:
        """Remove the collection of this name."""
        if not (is_index_name(name) or NAME.fullmatch(name.capitalize())):
            raise AssayError(f"weaviate at {self.url}: {name}: no collection that Assay made")
        for collection, note in read_notes(self._connection).items():
            whole = note["complete"] and name_of_index(collection) == name
            if whole or _lower(collection) == name:
                self._connection.drop(collection)


def read_notes(connection: WeaviateConnection) -> dict[str, dict[str, Any]]:
    """Return the notes of this project's collections by their names."""
    return {
        name: note
        for name, description in connection.read_descriptions().items()
        if NAME.fullmatch(name) and (note := _read_note(description))
    }


def _read_note(description: str) -> dict[str, Any] | None:
    try:
        note = json.loads(description)
    except ValueError:
        return None
    ours = isinstance(note, dict) and note.get("made_by") == MADE_BY and note.keys() >= FIELDS
    return note if ours else None


def _lower(collection: str) -> str:
    """Return the name as this project writes it."""
    return collection[0].lower() + collection[1:]


def name_of_index(collection: str) -> str:
    """Return the name of the index that a collection is."""
    return _lower(collection).rpartition("_")[0]
