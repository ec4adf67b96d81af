"""Google's embeddings by the Gemini API."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import check_number


class GeminiEncoderSettings(ServedEncoderSettings):
    """Google's embeddings by the Gemini API, which counts no tokens: they are estimated."""

    provider: ClassVar[str] = "gemini"
    address: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta"
    most_texts: ClassVar[int] = 100
    type: Literal["gemini"]
    model: str = Field(
        "gemini-embedding-001",
        min_length=1,
        pattern=r"^[\w.-]+$",
        description="the service's id of the model",
    )

    @property
    def path(self) -> str:
        """Below the address, with the model in it."""
        return f"models/{self.model}:batchEmbedContents"

    def headers(self, key: str) -> dict[str, str]:
        """Google has a header of its own."""
        return {"x-goog-api-key": key}

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Make a request of each text."""
        common: dict[str, Any] = {
            "model": f"models/{self.model}",
            "taskType": f"RETRIEVAL_{kind.upper()}",
        }
        if self.dimensions:
            common["outputDimensionality"] = self.dimensions
        return {"requests": [common | {"content": {"parts": [{"text": i}]}} for i in texts]}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts."""
        rows = check_number(reply["embeddings"], wanted, "vectors")
        return [row["values"] for row in rows], None
