"""Voyage's embeddings and rerankers."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from retrievers.models.served.messages import order
from retrievers.models.served.reranker import ServedRerankerSettings

ADDRESS = "https://api.voyageai.com/v1"


class VoyageEncoderSettings(ServedEncoderSettings):
    """Voyage's embeddings."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = ADDRESS
    most_texts: ClassVar[int] = 128
    type: Literal["voyage"]
    model: str = Field("voyage-4", min_length=1, description="the service's id of the model")

    @property
    def path(self) -> str:
        """Below the address."""
        return "embeddings"

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say which kind the texts are, and what becomes of long ones."""
        body: dict[str, Any] = {
            "model": self.model,
            "input": texts,
            "input_type": kind,
            "truncation": self.truncate,
        }
        return body | ({"output_dimension": self.dimensions} if self.dimensions else {})

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows in any order."""
        rows = order(reply["data"], wanted, "vectors")
        return [row["embedding"] for row in rows], reply["usage"]["total_tokens"]


class VoyageRerankerSettings(ServedRerankerSettings):
    """Voyage's rerankers."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = ADDRESS
    most_texts: ClassVar[int] = 1000
    type: Literal["voyage"]
    model: str = Field("rerank-2.5", min_length=1, description="the service's id of the model")

    @property
    def path(self) -> str:
        """Below the address."""
        return "rerank"

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for the scores of all; long texts lose their ends."""
        return {"model": self.model, "query": query, "documents": texts, "truncation": True}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first."""
        return reply["data"], "relevance_score", reply["usage"]["total_tokens"]
