"""Collections in MongoDB: documents with a text and its vector, and an index of each."""

from functools import partial
from typing import Any

from assay.retrievers.engines.mongodb.connection import VECTORS, WORDS, MongoConnection
from assay.retrievers.engines.mongodb.settings import MongoIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service_collections import ServiceStore

DOCUMENTS_PER_REQUEST = 1000
BYTES_PER_REQUEST = 16_000_000
BYTES_PER_DOCUMENT = 100
BYTES_PER_NUMBER = 16  # of BSON: its type, its place in the list, and 8 of its own


class MongoStore(ServiceStore[MongoConnection, MongoIndexSettings]):
    """A collection of one document a text, its position as `_id`."""

    def create(self, name: str, note: str) -> None:
        """Note the collection, make its indexes, and wait until they can be asked."""
        self.connection.write_note(name, note)
        collection = self.connection.open_collection(name)
        self.connection.make(
            lambda: collection.database.create_collection(name, check_exists=False)
        )
        self.connection.make(lambda: collection.create_search_indexes(self._describe()))

        def is_ready() -> bool:
            states = {each["name"]: each["queryable"] for each in collection.list_search_indexes()}
            return states == {VECTORS: True, WORDS: True}

        self.wait(name, lambda: self.connection.ask(is_ready))

    def upload(self, name: str) -> None:
        """Put the documents into it, again where a request may have been lost half-way."""
        from pymongo import ReplaceOne

        collection = self.connection.open_collection(name)
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_DOCUMENT

        def measure(position: int) -> int:
            return width + len(self._texts[position].encode())

        positions = self.track(range(len(self._texts)))
        for chosen in batch(positions, DOCUMENTS_PER_REQUEST, measure, BYTES_PER_REQUEST):
            writes = [ReplaceOne({"_id": i}, self._make(i), upsert=True) for i in chosen]
            self.connection.ask(partial(collection.bulk_write, writes, ordered=False))

    def _make(self, position: int) -> dict[str, Any]:
        return {
            "_id": position,
            "position": position,
            "text": self._texts[position],
            "vector": self._vectors[position].tolist(),
        }

    def _describe(self) -> list[Any]:
        """Return what the indexes are made with."""
        from pymongo.operations import SearchIndexModel

        vector = {
            "type": "vector",
            "path": "vector",
            "numDimensions": self.plan.dimensions,
            "similarity": "cosine",
        }
        fields = {
            "text": {"type": "string", "analyzer": self._settings.analyzer},
            "position": {"type": "number"},
        }
        words = {"mappings": {"dynamic": False, "fields": fields}}
        return [
            SearchIndexModel({"fields": [vector]}, name=VECTORS, type="vectorSearch"),
            SearchIndexModel(words, name=WORDS, type="search"),
        ]
