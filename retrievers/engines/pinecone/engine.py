"""Pinecone, a service: vectors alone."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE
from assay.retrievers.engines.pinecone.collection import VECTOR, PineconeStore
from assay.retrievers.engines.pinecone.connection import ADDRESS, NAMESPACE, PineconeConnection
from assay.retrievers.engines.pinecone.settings import PineconeIndexSettings
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

DEEPEST = 10_000

OpenedIndex: TypeAlias = OpenIndex[PineconeConnection]


class PineconeSettings(PineconeIndexSettings, ServiceSettings):
    """Pinecone, a service at PINECONE_URL: vectors alone; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        lists=("dense",),
        approximate=("serverless",),
        exact=False,
        extra="pinecone",
        modules=("pinecone",),
        packages=("pinecone",),
        address=ADDRESS,
    )
    type: Literal["pinecone"] = "pinecone"

    def build(self, resources: Resources) -> "PineconeEngine":
        """Return the engine, which has indexed nothing yet."""
        return PineconeEngine(self, resources)

    def connect(self) -> PineconeConnection:
        """Return connections to Pinecone."""
        return PineconeConnection(self)


class PineconeEngine(ServiceEngine[PineconeSettings, PineconeConnection]):
    """A serverless index of documents; its search is always approximate."""

    store = PineconeStore

    @property
    def formula(self) -> Formula:
        """The cosine."""
        return COSINE

    @property
    def _exact(self) -> bool:
        return False

    def _shape(self) -> Sequence[Any]:
        return [self._settings.cloud, self._settings.region]

    def _search_dense(self, opened: OpenedIndex, vector: Vectors, limit: int) -> list[Scored]:
        """Return texts of great cosine, 10,000 at most, which is as many as Pinecone gives."""
        clause = {"type": "dense_vector", "field": VECTOR, "values": vector.tolist()}

        def search() -> list[Scored]:
            documents = opened.connection.open_index(opened.name).documents
            most = min(limit, self._texts, DEEPEST)
            found = documents.search(namespace=NAMESPACE, score_by=[clause], top_k=most)
            return [(int(match.id), float(match.score)) for match in found.matches]

        return opened.connection.ask(search)
