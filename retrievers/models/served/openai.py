"""OpenAI's embeddings, and every service that answers in their form."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import order


class OpenAiEncoderSettings(ServedEncoderSettings):
    """OpenAI's embeddings, or with `url` those of Azure, Ollama, vLLM, TEI, Infinity, LM Studio."""

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"
    route: ClassVar[str] = "embeddings"
    most_texts: ClassVar[int] = 256
    type: Literal["openai"]
    model: str = Field(
        "text-embedding-3-small", min_length=1, description="the service's id of the model"
    )

    @model_validator(mode="after")
    def _names_a_model(self) -> "OpenAiEncoderSettings":
        if self.url and "model" not in self.model_fields_set:
            raise ValueError("model: missing; with a url it has no default")
        return self

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """It has one kind of text."""
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        return body | ({"dimensions": self.dimensions} if self.dimensions else {})

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows in any order; compatible services may count no tokens."""
        usage = reply.get("usage") or {}
        tokens = usage.get("prompt_tokens") or usage.get("total_tokens")
        return [row["embedding"] for row in order(reply["data"], wanted, "vectors")], tokens
