"""Jina's embeddings and rerankers; vLLM and Infinity rerank in the same form."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.models.served.encoder import Kind, Rows
from assay.retrievers.models.served.messages import order
from assay.retrievers.models.served.output import NAMES, OutputEncoderSettings
from assay.retrievers.models.served.reranker import ServedRerankerSettings

ADDRESS = "https://api.jina.ai/v1"


class JinaEncoderSettings(OutputEncoderSettings):
    """Jina's embeddings."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "embeddings"
    most_texts: ClassVar[int] = 128
    most_tokens_together: ClassVar[int] = 8_192
    type: Literal["jina"]
    model: str = Field(
        "jina-embeddings-v3", min_length=1, description="the service's id of the model"
    )
    output: Literal["float", "binary"] = Field(
        "float",
        description=(
            "what the service gives of each number, for passages and queries alike: a float, or one"
            " bit (binary), read as 1 or -1"
        ),
    )
    tasks: bool = Field(
        True, description="say whether a text is a passage or a query; false for models before v3"
    )
    late_chunking: bool = Field(
        False,
        description=(
            "a document's chunks are read as one text, and each has the mean of its own tokens'"
            " vectors"
        ),
    )

    @property
    def contextual(self) -> bool:
        """Whether chunks are cut late."""
        return self.late_chunking

    @property
    def variety(self) -> Sequence[Any]:
        """Whether passages are said to be such, the output, and late chunking."""
        late = ("late chunking",) if self.late_chunking else ()
        return (self.tasks, *super().variety, *late)

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say which kind the texts are, and what becomes of long ones: not of a document's, whose
        last chunks would be lost.
        """
        together = self.late_chunking and kind == "document"
        body: dict[str, Any] = {
            "model": self.model,
            "input": texts,
            "truncate": self.truncate and not together,
        }
        if together:
            body["late_chunking"] = True
        if self.output != "float":
            body["embedding_type"] = NAMES[self.output]
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
    route: ClassVar[str] = "rerank"
    most_texts: ClassVar[int] = 512
    type: Literal["jina"]
    model: str = Field(
        "jina-reranker-v2-base-multilingual",
        min_length=1,
        description="the service's id of the model",
    )

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
