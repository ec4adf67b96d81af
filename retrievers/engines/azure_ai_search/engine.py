"""Azure AI Search, a service: vector and BM25 lists fused by its hybrid search."""

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.engines.azure_ai_search.connection import (
    ADDRESS,
    AzureSearchConnection,
    UnstoredError,
)
from assay.retrievers.engines.base import LegDepths
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.retries import PASSING
from assay.retrievers.settings import Resources, Settings

if TYPE_CHECKING:
    from azure.search.documents.indexes.models import SearchIndex


class AzureBm25Settings(Settings):
    """Azure's BM25, which is Lucene's, with the statistics of all shards."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    analyzer: str = Field(
        "en.lucene",
        pattern=r"[\w.-]+",
        description=(
            "the language analyzer by its name in Azure: en.lucene stems and drops stop words, "
            "standard.lucene does neither"
        ),
    )


class AzureIndexSettings(Settings):
    """What an index is made with."""

    bm25: AzureBm25Settings = Field(
        default_factory=AzureBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(
        True,
        description="exhaustive search, which compares with every vector; false: an HNSW graph",
    )
    m: int = Field(4, ge=4, le=10, description="HNSW: edges of a node")
    ef_construction: int = Field(
        400, ge=100, le=1000, description="HNSW: candidates when the graph is built"
    )
    ef: int = Field(500, ge=100, le=1000, description="HNSW: candidates when searching")


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


RANK_CONSTANT = 60
# How much of the text list enters the fusion: only interfaces in preview have a setting for it.
TEXT_DEPTH = 1000
# What the simple query syntax gives a meaning, wherever it stands; none is part of a term.
_OPERATORS = re.compile(r'[+\-&|!(){}\[\]^"~*?:\\/]')

OpenedIndex: TypeAlias = OpenIndex[AzureSearchConnection]


class AzureSearchSettings(AzureIndexSettings, ServiceSettings):
    """Azure AI Search, a service at AZURE_SEARCH_ENDPOINT: vector and BM25 lists fused inside."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="azure-ai-search",
        modules=("azure.search.documents",),
        packages=("azure-search-documents",),
        address=ADDRESS,
    )
    type: Literal["azure-ai-search"] = "azure-ai-search"
    depth: LegDepths = Field(
        default_factory=lambda: LegDepths(keyword=TEXT_DEPTH),
        description="candidates of each list that enter fusion; of the keyword list always 1000",
    )
    weight: float = Field(
        1.0, gt=0, description="weight of the dense list in the fusion; the keyword list's is 1"
    )

    @model_validator(mode="after")
    def _can_reach(self) -> "AzureSearchSettings":
        if self.depth.keyword != TEXT_DEPTH:
            raise ValueError(
                f"depth.keyword: Azure AI Search fuses {TEXT_DEPTH} texts of the keyword list; "
                f"allowed: {TEXT_DEPTH}"
            )
        return self

    def build(self, resources: Resources) -> "AzureSearchEngine":
        """Return the engine, which has indexed nothing yet."""
        return AzureSearchEngine(self, resources)

    def connect(self) -> AzureSearchConnection:
        """Return connections to the service."""
        return AzureSearchConnection(self)


class AzureSearchEngine(ServiceEngine[AzureSearchSettings, AzureSearchConnection]):
    """An index of documents with a text and its vector; answers of any length come in pages."""

    store = AzureSearchStore

    @property
    def formula(self) -> Formula:
        """The fusion as learn.microsoft.com/azure/search/hybrid-search-ranking has it.

        That ranks count from 1 follows from the scores of its examples: 0.0327868834 is 2 / 61.
        """
        return ReciprocalRanks(k=RANK_CONSTANT, weights=(self._settings.weight, 1.0), single=True)

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        settings = self._settings
        graph = [settings.m, settings.ef_construction, settings.ef]
        return [settings.bm25, *([] if settings.exact else graph)]

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, of which Azure's score is 1 / (2 - cosine)."""
        limit = min(limit, self._texts)
        found = self._ask(opened, limit, vector_queries=[self._near(vector, limit)])
        return [(position, 2.0 - 1.0 / score) for position, score in found]

    def _search_keyword(self, opened: OpenedIndex, text: str, limit: int) -> list[Scored]:
        words = self._words(text)
        return self._ask(opened, min(limit, self._texts), **words) if words else []

    def _search_hybrid(
        self, opened: OpenedIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts; what has no word is asked as a vector alone, and not fused."""
        depth, words = self.depth, self._words(text)
        if not words:
            return self.formula.fuse(self._search_dense(opened, vector, depth.dense), [])
        near = self._near(vector, min(depth.dense, self._texts))
        most = min(depth.dense + depth.keyword, self._texts)
        return self._ask(opened, most, vector_queries=[near], **words)

    def _words(self, text: str) -> dict[str, Any]:
        """Return what asks for the words of a text; empty where it has none."""
        words = _OPERATORS.sub(" ", text)
        if not any(map(str.isalnum, words)):
            return {}
        return {
            "search_text": words,
            "search_fields": [TEXT],
            "search_mode": "any",
            "scoring_statistics": "global",
        }

    def _near(self, vector: Vectors, limit: int) -> Any:
        from azure.search.documents.models import VectorizedQuery

        return VectorizedQuery(
            vector=vector.tolist(),
            k_nearest_neighbors=limit,
            fields=VECTOR,
            weight=self._settings.weight,
        )

    def _ask(self, opened: OpenedIndex, limit: int, **query: Any) -> list[Scored]:
        client = opened.connection.open_index(opened.name)
        return opened.connection.ask(
            lambda: [
                (int(each[KEY]), float(each["@search.score"]))
                for each in client.search(select=[KEY], top=limit, **query)
            ]
        )
