"""Cohere's embeddings and rerankers, version 2 of its API."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.models.served.encoder import Kind, Rows
from assay.retrievers.models.served.messages import check_number
from assay.retrievers.models.served.output import NAMES, OutputEncoderSettings
from assay.retrievers.models.served.reranker import ServedRerankerSettings
from assay.retrievers.models.served.service import Unit

ADDRESS = "https://api.cohere.com"


class CohereEncoderSettings(OutputEncoderSettings):
    """Cohere's embeddings."""

    provider: ClassVar[str] = "cohere"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "v2/embed"
    most_texts: ClassVar[int] = 96
    type: Literal["cohere"]
    model: str = Field("embed-v4.0", min_length=1, description="the service's id of the model")

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say which kind the texts are, and what becomes of long ones."""
        body: dict[str, Any] = {
            "model": self.model,
            "texts": texts,
            "input_type": f"search_{kind}",
            "embedding_types": [NAMES[self.output]],
            "truncate": "END" if self.truncate else "NONE",
        }
        return body | ({"output_dimension": self.dimensions} if self.dimensions else {})

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts."""
        rows = check_number(reply["embeddings"][NAMES[self.output]], wanted, "vectors")
        return rows, _find_billed(reply, "input_tokens")


class CohereRerankerSettings(ServedRerankerSettings):
    """Cohere's rerankers, billed by the search."""

    provider: ClassVar[str] = "cohere"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "v2/rerank"
    billed: ClassVar[Unit] = "searches"
    most_texts: ClassVar[int] = 1000
    type: Literal["cohere"]
    model: str = Field(
        "rerank-v4.0-fast", min_length=1, description="the service's id of the model"
    )

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for the scores of all."""
        return {"model": self.model, "query": query, "documents": texts}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first."""
        return reply["results"], "relevance_score", _find_billed(reply, "search_units")


def _find_billed(reply: Any, unit: str) -> int | None:
    billed = ((reply.get("meta") or {}).get("billed_units") or {}).get(unit)
    return billed and int(billed)
