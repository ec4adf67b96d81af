"""Containers in Azure Cosmos DB: items with a text and its vector, in one partition."""

from functools import partial
from typing import Any

from assay.retrievers.engines.azure_cosmos_nosql.connection import PARTITION, CosmosConnection
from assay.retrievers.engines.azure_cosmos_nosql.settings import CosmosIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service_collections import ServiceStore

# What one batch may hold: learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch
ITEMS_PER_REQUEST = 100
BYTES_PER_REQUEST = 1_800_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25
BYTES_PER_ITEM = 200
# The most dimensions of an index that keeps vectors as they are.
FLAT_DIMENSIONS = 505


class CosmosStore(ServiceStore[CosmosConnection, CosmosIndexSettings]):
    """A container of one item a text, its position as id.

    They are in one partition, which holds 20 GB: a batch is for one, and so are its ranks.
    """

    def create(self, name: str, note: str) -> None:
        """Note the container, and make it."""
        self.connection.write_note(name, note)
        self.connection.make_container(name, "/part", **self._describe())

    def upload(self, name: str) -> None:
        """Put the items into it, as many at once as one batch may hold."""
        container = self.connection.open_container(name)
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_ITEM

        def measure(position: int) -> int:
            # A character may be escaped.
            return width + 6 * len(self._texts[position])

        positions = self.track(range(len(self._texts)))
        for chosen in batch(positions, ITEMS_PER_REQUEST, measure, BYTES_PER_REQUEST):
            items = [("upsert", (self._make(i),)) for i in chosen]
            self.connection.ask(partial(container.execute_item_batch, items, PARTITION))

    def _make(self, position: int) -> dict[str, Any]:
        return {
            "id": str(position),
            "part": PARTITION,
            "text": self._texts[position],
            "vector": self._vectors[position].tolist(),
        }

    def _describe(self) -> dict[str, Any]:
        """Return what the container is made with."""
        language, dimensions = self._settings.language, self.plan.dimensions
        kept = "flat" if dimensions <= FLAT_DIMENSIONS else "quantizedFlat"
        vector = {
            "path": "/vector",
            "dataType": "float32",
            "distanceFunction": "cosine",
            "dimensions": dimensions,
        }
        return {
            "vector_embedding_policy": {"vectorEmbeddings": [vector]},
            "full_text_policy": {
                "defaultLanguage": language,
                "fullTextPaths": [{"path": "/text", "language": language}],
            },
            "indexing_policy": {
                "indexingMode": "consistent",
                "automatic": True,
                "includedPaths": [{"path": "/*"}],
                "excludedPaths": [{"path": '/"_etag"/?'}, {"path": "/vector/*"}],
                "fullTextIndexes": [{"path": "/text"}],
                "vectorIndexes": [
                    {"path": "/vector", "type": kept if self._settings.exact else "diskANN"}
                ],
            },
        }
