"""Azure AI Search, a service: vector and BM25 lists fused by its hybrid search."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.base import LegDepths
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.retries import PASSING
from assay.retrievers.settings import Settings

KEY, TEXT, VECTOR = "id", "text", "vector"
PROFILE, ALGORITHM = "vectors", "nearest"
RANK_CONSTANT = 60
# How much of the text list enters the fusion: only interfaces in preview have a setting for it.
TEXT_DEPTH = 1000
# What the simple query syntax gives a meaning, wherever it stands; none is part of a term.
_OPERATORS = re.compile(r'[+\-&|!(){}\[\]^"~*?:\\/]')


class UnstoredError(Exception):
    """Some documents of a request were not stored."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status_code = status


class AzureSearchStore(Store):
    """An index of one document per text, its position as key; answers of any length come in pages.

    A note is an index's description. What one request may hold:
    learn.microsoft.com/azure/search/search-limits-quotas-capacity
    """

    engine = "azure-ai-search"
    vendor = "Azure AI Search"
    key = "AZURE_SEARCH_KEY"
    separator = "-"
    eventual = True
    rows_per_request = 1000
    bytes_per_request = 16_000_000
    settings: "AzureSearchSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "UnstoredError": Fault("answered"),
        "IncompleteReadError": Fault("lost", "the answer broke off"),
        "DecodeError": Fault("garbled"),
        "ServiceRequestTimeoutError": Fault("late"),
        "ServiceResponseTimeoutError": Fault("late"),
        "HttpResponseError": Fault("answered"),
        "AzureError": Fault("lost"),
    }

    def connect(self) -> None:
        """Make the clients, with one pool of connections; each closes what it was given."""
        from azure.core.credentials import AzureKeyCredential
        from azure.core.pipeline.transport import RequestsTransport
        from azure.search.documents import SearchClient
        from azure.search.documents.indexes import SearchIndexClient

        seconds = self.settings.timeout_seconds
        self._transport = RequestsTransport(connection_timeout=seconds, read_timeout=seconds)
        self._options: dict[str, Any] = {
            "endpoint": self.url,
            "credential": AzureKeyCredential(self.secret),
            "api_version": self.read_version(),
            "retry_total": 0,
            "transport": self._transport,
        }
        self._open = SearchClient
        self._indexes = SearchIndexClient(**self._options)

    def read_version(self) -> str:
        """Return the version of the API used, since the service reports none of its own."""
        return "2026-04-01"

    def open_index(self, name: str) -> Any:
        """Return the client of an index."""
        return self._open(index_name=name, **self._options)

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the index; vectors are kept for searches alone."""
        from azure.search.documents.indexes import models

        settings = self.settings
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
        key = models.SearchField(name=KEY, type="Edm.String", key=True, searchable=False, **plain)
        text = models.SearchField(
            name=TEXT,
            type="Edm.String",
            searchable=True,
            analyzer_name=settings.bm25.analyzer,
            **plain,
        )
        vector = models.SearchField(
            name=VECTOR,
            type="Collection(Edm.Single)",
            searchable=True,
            hidden=True,
            stored=False,
            vector_search_dimensions=dimensions,
            vector_search_profile_name=PROFILE,
            **plain,
        )
        index = models.SearchIndex(
            name=name,
            description=note,
            fields=[key, text, vector],
            similarity=models.BM25SimilarityAlgorithm(k1=settings.bm25.k1, b=settings.bm25.b),
            vector_search=models.VectorSearch(algorithms=[algorithm], profiles=[profile]),
        )
        self.make(lambda: self._indexes.create_index(index))

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put documents. Raises UnstoredError if some are not stored."""
        documents = [{KEY: str(row.position), TEXT: row.text, VECTOR: row.vector} for row in rows]
        told = self.open_index(name).upload_documents(documents)
        if failed := [one for one in told if not one.succeeded]:
            # Errors that do not pass by themselves are reported first.
            worst = min(failed, key=lambda one: one.status_code in PASSING)
            reason = f"{len(failed)} texts are not stored: {worst.error_message}"
            raise UnstoredError(worst.status_code, reason)

    def count(self, name: str) -> int:
        """Return the number of documents that the index reports, which lags behind."""
        return int(self.open_index(name).get_document_count())

    def mark(self, name: str, note: str) -> None:
        """Describe the index by the note."""
        index = self._indexes.get_index(name)
        index.description = note
        self._indexes.create_or_update_index(index)

    def find_notes(self) -> dict[str, str]:
        """Return the descriptions of the indexes."""
        return {index.name: index.description or "" for index in self._indexes.list_indexes()}

    def remove(self, name: str) -> None:
        """Remove the index."""
        self._indexes.delete_index(name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; Azure's score is 1 / (2 - cosine)."""
        found = self._search(target.name, limit, vector_queries=[self._near(vector, limit)])
        return [(position, 2.0 - 1.0 / score) for position, score in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        words = _find_words(text)
        return self._search(target.name, limit, **words) if words else []

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts; a query without words is searched by vector only, unfused."""
        depth, words = self.settings.depth, _find_words(text)
        if not words:
            found = self.dense(target, vector, depth.dense)
            return self.settings.make_formula().fuse(found, [])
        near = self._near(vector, depth.dense)
        return self._search(
            target.name, depth.dense + depth.keyword, vector_queries=[near], **words
        )

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._transport.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the service's message."""
        told = getattr(error, "error", None)
        return told.message if told else getattr(error, "reason", None) or error

    @classmethod
    def find_fault(cls, error: Any) -> Fault | None:
        """Return the fault of the table; an answer without a status is none."""
        found = super().find_fault(error)
        if found and found.kind == "answered" and not found.status:
            return Fault("lost", error)
        return found

    def _near(self, vector: Vectors, limit: int) -> Any:
        from azure.search.documents.models import VectorizedQuery

        return VectorizedQuery(
            vector=vector.tolist(),
            k_nearest_neighbors=limit,
            fields=VECTOR,
            weight=self.settings.weight,
        )

    def _search(self, name: str, limit: int, **query: Any) -> list[Scored]:
        found = self.open_index(name).search(select=[KEY], top=limit, **query)
        return [(int(each[KEY]), float(each["@search.score"])) for each in found]


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


class AzureSearchSettings(ServerSettings):
    """Azure AI Search, a service at AZURE_SEARCH_ENDPOINT: vector and BM25 lists fused inside."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="azure-ai-search",
        modules=("azure.search.documents",),
        packages=("azure-search-documents",),
        address="AZURE_SEARCH_ENDPOINT",
    )
    store: ClassVar[type[AzureSearchStore]] = AzureSearchStore
    type: Literal["azure-ai-search"] = "azure-ai-search"
    depth: LegDepths = Field(
        default_factory=lambda: LegDepths(keyword=TEXT_DEPTH),
        description="candidates of each list that enter fusion; of the keyword list always 1000",
    )
    weight: float = Field(
        1.0, gt=0, description="weight of the dense list in the fusion; the keyword list's is 1"
    )
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

    @model_validator(mode="after")
    def _can_reach(self) -> "AzureSearchSettings":
        if self.depth.keyword != TEXT_DEPTH:
            raise ValueError(
                f"depth.keyword: Azure AI Search fuses {TEXT_DEPTH} texts of the keyword list; "
                f"allowed: {TEXT_DEPTH}"
            )
        return self

    def make_formula(self) -> Formula:
        """Return the fusion as learn.microsoft.com/azure/search/hybrid-search-ranking has it.

        That ranks count from 1 follows from the scores of its examples: 0.0327868834 is 2 / 61.
        """
        return ReciprocalRanks(k=RANK_CONSTANT, weights=(self.weight, 1.0), single=True)

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        graph = [self.m, self.ef_construction, self.ef]
        return [self.bm25, *([] if self.exact else graph)]


def _find_words(text: str) -> dict[str, Any]:
    """Return the query arguments for the words of a text; empty if it has none."""
    words = _OPERATORS.sub(" ", text)
    if not any(map(str.isalnum, words)):
        return {}
    return {
        "search_text": words,
        "search_fields": [TEXT],
        "search_mode": "any",
        "scoring_statistics": "global",
    }
