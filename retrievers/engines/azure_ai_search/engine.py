"""Azure AI Search, a service: vector and BM25 lists fused by its hybrid search."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.engines.analyzer_coverage import WordKey
from assay.retrievers.engines.azure_ai_search.collection import KEY, TEXT, VECTOR, AzureSearchStore
from assay.retrievers.engines.azure_ai_search.connection import ADDRESS, AzureSearchConnection
from assay.retrievers.engines.azure_ai_search.settings import AzureIndexSettings
from assay.retrievers.engines.base import LegDepths
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

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
    words: ClassVar[WordKey | None] = WordKey(
        "bm25.analyzer",
        {
            "chinese": (
                "zh-Hans.lucene",
                "zh-Hant.lucene",
                "zh-Hans.microsoft",
                "zh-Hant.microsoft",
            ),
            "japanese": ("ja.lucene", "ja.microsoft"),
            "korean": ("ko.lucene", "ko.microsoft"),
            "thai": ("th.lucene", "th.microsoft"),
        },
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
