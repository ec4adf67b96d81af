"""Jina's embeddings and rerankers; vLLM and Infinity rerank in the same form."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from retrievers.models.served.messages import order
from retrievers.models.served.reranker import ServedRerankerSettings

ADDRESS = "https://api.jina.ai/v1"


class JinaEncoderSettings(ServedEncoderSettings):
    """Jina's embeddings."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = ADDRESS
    most_texts: ClassVar[int] = 128
    type: Literal["jina"]
    model: str = Field(
        "jina-embeddings-v3", min_length=1, description="the service's id of the model"
    )
    tasks: bool = Field(
        True, description="say whether a text is a passage or a query; false for models before v3"
    )

    @property
    def variety(self) -> Sequence[Any]:
        """Whether passages are said to be such."""
        return (self.tasks,)

    @property
    def path(self) -> str:
        """Below the address."""
        return "embeddings"

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say which kind the texts are, and what becomes of long ones."""
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": self.truncate}
        if self.tasks:
            body["task"] = "retrieval.query" if kind == "query" else "retrieval.passage"
        return body | ({"dimensions": self.dimensions} if self.dimensions else {})

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows in any order."""
        rows = order(reply["data"], wanted, "vectors")
        return [row["embedding"] for row in rows], reply["usage"]["total_tokens"]


class JinaRerankerSettings(ServedRerankerSettings):
    """Jina's rerankers, or with `url` those of vLLM and Infinity."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = ADDRESS
    most_texts: ClassVar[int] = 512
    type: Literal["jina"]
    model: str = Field(
        "jina-reranker-v2-base-multilingual",
        min_length=1,
        description="the service's id of the model",
    )

    @property
    def path(self) -> str:
        """Below the address."""
        return "rerank"

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for the scores of all, in the terms that all such services know."""
        return {
            "model": self.model,
            "query": query,
            "documents": texts,
            "top_n": len(texts),
            "return_documents": False,
        }

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first."""
        tokens = (reply.get("usage") or {}).get("total_tokens")
        return reply["results"], "relevance_score", tokens
