"""The providers of rerankers, in Cohere's and Jina's form but for what each says differently."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.models.served.encoders import (
    ID,
    CohereEncoderSettings,
    JinaEncoderSettings,
    VoyageEncoderSettings,
)
from assay.retrievers.models.served.reranker import ServedRerankerSettings
from assay.retrievers.models.served.service import Unit
from assay.retrievers.settings.trust import ADDRESS

TEI = "http://localhost:8080"


class CohereRerankerSettings(ServedRerankerSettings):
    """Cohere's rerankers, billed by the search."""

    provider: ClassVar[str] = "cohere"
    address: ClassVar[str] = CohereEncoderSettings.address
    route: ClassVar[str] = "v2/rerank"
    billed: ClassVar[Unit] = "searches"
    type: Literal["cohere"]
    model: str = Field("rerank-v4.0-fast", min_length=1, description=ID)


class VoyageRerankerSettings(ServedRerankerSettings):
    """Voyage's rerankers."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = VoyageEncoderSettings.address
    rows: ClassVar[str] = "data"
    type: Literal["voyage"]
    model: str = Field("rerank-2.5", min_length=1, description=ID)

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for the scores of all; long texts lose their ends."""
        return super().write(query, texts) | {"truncation": True}


class JinaRerankerSettings(ServedRerankerSettings):
    """Jina's rerankers, or with `url` those of vLLM and Infinity."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = JinaEncoderSettings.address
    most_texts: ClassVar[int] = 512
    type: Literal["jina"]
    model: str = Field("jina-reranker-v2-base-multilingual", min_length=1, description=ID)

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Return a request for the scores of all texts, in fields that all services know."""
        return super().write(query, texts) | {"top_n": len(texts), "return_documents": False}


class TeiRerankerSettings(ServedRerankerSettings):
    """A text-embeddings-inference server with a reranker."""

    provider: ClassVar[str] = "tei"
    address: ClassVar[str] = TEI
    most_texts: ClassVar[int] = 32  # of a server as it is delivered
    type: Literal["tei"]
    model: str = Field("", description="for people: a server has one model")
    url: Annotated[str, ADDRESS] = Field(TEI, description="address of the server")

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for probabilities; long texts lose their ends."""
        raw = self.scores == "logit"
        return {"query": query, "texts": texts, "raw_scores": raw, "truncate": True}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first; tokens are not reported."""
        return reply, "score", None
