"""Voyage's embeddings and rerankers."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.models.served.encoder import Kind, Rows
from assay.retrievers.models.served.messages import check_number, order
from assay.retrievers.models.served.output import NAMES, OutputEncoderSettings
from assay.retrievers.models.served.reranker import ServedRerankerSettings

ADDRESS = "https://api.voyageai.com/v1"
CONTEXTUAL = "voyage-context"  # how the names of its models begin that read chunks together


class VoyageEncoderSettings(OutputEncoderSettings):
    """Voyage's embeddings; those of `contextualised` chunks by the address made for these."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "embeddings"
    most_texts: ClassVar[int] = 128
    most_tokens_together: ClassVar[int] = 32_000
    type: Literal["voyage"]
    model: str = Field("voyage-4", min_length=1, description="the service's id of the model")
    contextualised: bool = Field(
        False, description="a document's chunks are read together, by a model made for it"
    )

    @model_validator(mode="after")
    def _asks_the_right_model(self) -> "VoyageEncoderSettings":
        if not self.url and self.contextualised != self.model.startswith(CONTEXTUAL):
            raise ValueError(
                f"contextualised: {str(self.contextualised).lower()}; with model {self.model}"
                f" allowed: {str(not self.contextualised).lower()}"
            )
        return self

    @property
    def contextual(self) -> bool:
        """Whether chunks are contextualised."""
        return self.contextualised

    @property
    def variety(self) -> Sequence[Any]:
        """The output, and whether a document is read as a whole."""
        return (*super().variety, *(("contextualised",) if self.contextualised else ()))

    @property
    def path(self) -> str:
        """Below the address."""
        return "contextualizedembeddings" if self.contextualised else self.route

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say which kind the texts are, and what becomes of long ones."""
        body: dict[str, Any] = {"model": self.model, "input_type": kind}
        if self.contextualised:
            body["inputs"] = [texts]
        else:
            body |= {"input": texts, "truncation": self.truncate}
        if self.output != "float":
            body["output_dtype"] = NAMES[self.output]
        return body | ({"output_dimension": self.dimensions} if self.dimensions else {})

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows in any order."""
        rows = reply["data"]
        if self.contextualised:
            (document,) = check_number(rows, 1, "documents")
            rows = document["data"]
        found = order(rows, wanted, "vectors")
        return [row["embedding"] for row in found], reply["usage"]["total_tokens"]


class VoyageRerankerSettings(ServedRerankerSettings):
    """Voyage's rerankers."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "rerank"
    most_texts: ClassVar[int] = 1000
    type: Literal["voyage"]
    model: str = Field("rerank-2.5", min_length=1, description="the service's id of the model")

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for the scores of all; long texts lose their ends."""
        return {"model": self.model, "query": query, "documents": texts, "truncation": True}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first."""
        return reply["data"], "relevance_score", reply["usage"]["total_tokens"]
