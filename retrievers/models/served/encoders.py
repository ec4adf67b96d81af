"""The providers of embeddings: all in OpenAI's form, but for what each says differently."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import check_number, find_billed

ID = "the service's id of the model"


class OpenAiEncoderSettings(ServedEncoderSettings):
    """OpenAI's embeddings, or with `url` those of Azure, Gemini, Ollama, vLLM, TEI, Infinity."""

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"
    most_texts: ClassVar[int] = 256
    type: Literal["openai"]
    model: str = Field("text-embedding-3-small", min_length=1, description=ID)

    @model_validator(mode="after")
    def _names_a_model(self) -> "OpenAiEncoderSettings":
        if self.url and "model" not in self.model_fields_set:
            raise ValueError("model: missing; with a url it has no default")
        return self

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Ask for floats; it has one kind of text."""
        return {"encoding_format": "float"}


class CohereEncoderSettings(ServedEncoderSettings):
    """Cohere's embeddings."""

    provider: ClassVar[str] = "cohere"
    address: ClassVar[str] = "https://api.cohere.com"
    route: ClassVar[str] = "v2/embed"
    texts_key: ClassVar[str] = "texts"
    dimensions_key: ClassVar[str] = "output_dimension"
    most_texts: ClassVar[int] = 96
    type: Literal["cohere"]
    model: str = Field("embed-v4.0", min_length=1, description=ID)

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones."""
        return {
            "input_type": f"search_{kind}",
            "embedding_types": ["float"],
            "truncate": "END" if self.truncate else "NONE",
        }

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts."""
        rows = check_number(reply["embeddings"]["float"], wanted, "vectors")
        return rows, find_billed(reply, self.billed)


class VoyageEncoderSettings(ServedEncoderSettings):
    """Voyage's embeddings."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = "https://api.voyageai.com/v1"
    dimensions_key: ClassVar[str] = "output_dimension"
    most_texts: ClassVar[int] = 128
    type: Literal["voyage"]
    model: str = Field("voyage-4", min_length=1, description=ID)

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones."""
        return {"input_type": kind, "truncation": self.truncate}


class JinaEncoderSettings(ServedEncoderSettings):
    """Jina's embeddings."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = "https://api.jina.ai/v1"
    most_texts: ClassVar[int] = 128
    type: Literal["jina"]
    model: str = Field("jina-embeddings-v3", min_length=1, description=ID)

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones."""
        task = "retrieval.query" if kind == "query" else "retrieval.passage"
        return {"truncate": self.truncate, "task": task}
