"""Indexes in Azure AI Search: documents with a text and its vector."""

from functools import partial
from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.azure_ai_search.connection import AzureSearchConnection, UnstoredError
from assay.retrievers.engines.azure_ai_search.settings import AzureIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.services.retries import PASSING

if TYPE_CHECKING:
    from azure.search.documents.indexes.models import SearchIndex


KEY, TEXT, VECTOR = "id", "text", "vector"
PROFILE, ALGORITHM = "vectors", "nearest"
# What one request may hold: learn.microsoft.com/azure/search/search-limits-quotas-capacity
DOCUMENTS_PER_REQUEST = 1000
BYTES_PER_REQUEST = 16_000_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25
BYTES_PER_DOCUMENT = 80


class AzureSearchStore(ServiceStore[AzureSearchConnection, AzureIndexSettings]):
    """An index of one document a text, its position as key."""

    def create(self, name: str, note: str) -> None:
        """Make the index."""
        index = self._describe(name, note)
        self.connection.make(lambda: self.connection.indexes.create_index(index))

    def upload(self, name: str) -> None:
        """Put the documents into it, as many at once as one request may hold."""
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_DOCUMENT
        client = self.connection.open_index(name)

        def measure(position: int) -> int:
            # A character may be escaped.
            return width + 6 * len(self._texts[position])

        def send(documents: list[dict[str, Any]]) -> None:
            failed = [one for one in client.upload_documents(documents) if not one.succeeded]
            if failed:
                # What does not pass by itself is told first.
                worst = min(failed, key=lambda one: one.status_code in PASSING)
                reason = f"{len(failed)} texts are not stored: {worst.error_message}"
                raise UnstoredError(worst.status_code, reason)

        for chosen in batch(
            self.track(range(len(self._texts))), DOCUMENTS_PER_REQUEST, measure, BYTES_PER_REQUEST
        ):
            documents = [
                {KEY: str(i), TEXT: self._texts[i], VECTOR: self._vectors[i].tolist()}
                for i in chosen
            ]
            self.connection.ask(partial(send, documents))

    def _describe(self, name: str, note: str) -> "SearchIndex":
        """Return what the index is made with; vectors are kept for searches alone."""
        from azure.search.documents.indexes import models

        settings = self._settings
        if settings.exact:
            algorithm: Any = models.ExhaustiveKnnAlgorithmConfiguration(
                name=ALGORITHM, parameters=models.ExhaustiveKnnParameters(metric="cosine")
            )
        else:
            graph = models.HnswParameters(
                m=settings.m,
                ef_construction=settings.ef_construction,
                ef_search=settings.ef,
                metric="cosine",
            )
            algorithm = models.HnswAlgorithmConfiguration(name=ALGORITHM, parameters=graph)
        profile = models.VectorSearchProfile(name=PROFILE, algorithm_configuration_name=ALGORITHM)
        # What is not said is true, and a long text is refused where it can be filtered by.
        plain: dict[str, Any] = {"filterable": False, "sortable": False, "facetable": False}
        return models.SearchIndex(
            name=name,
            description=note,
            fields=[
                models.SearchField(
                    name=KEY, type="Edm.String", key=True, searchable=False, **plain
                ),
                models.SearchField(
                    name=TEXT,
                    type="Edm.String",
                    searchable=True,
                    analyzer_name=settings.bm25.analyzer,
                    **plain,
                ),
                models.SearchField(
                    name=VECTOR,
                    type="Collection(Edm.Single)",
                    searchable=True,
                    hidden=True,
                    stored=False,
                    vector_search_dimensions=self.plan.dimensions,
                    vector_search_profile_name=PROFILE,
                    **plain,
                ),
            ],
            similarity=models.BM25SimilarityAlgorithm(k1=settings.bm25.k1, b=settings.bm25.b),
            vector_search=models.VectorSearch(algorithms=[algorithm], profiles=[profile]),
        )
