"""Hugging Face's text-embeddings-inference, by its own API."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import check_number
from assay.retrievers.models.served.reranker import ServedRerankerSettings
from assay.retrievers.settings.trust import ADDRESS as SENT_TO

ADDRESS = "http://localhost:8080"
MODEL = Field("", description="for people: a server has one model")


class TeiEncoderSettings(ServedEncoderSettings):
    """A text-embeddings-inference server, at port 8080 of this machine if no `url` is given."""

    provider: ClassVar[str] = "tei"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "embed"
    most_texts: ClassVar[int] = 32  # of a server as it is delivered
    type: Literal["tei"]
    model: str = MODEL
    url: Annotated[str, SENT_TO] = Field(ADDRESS, description="address of the server")
    query_prompt: str | None = Field(
        None, description="the prompt for queries, of those that the model's files name"
    )
    passage_prompt: str | None = Field(
        None, description="the prompt for passages, of those that the model's files name"
    )

    @property
    def variety(self) -> Sequence[Any]:
        """The prompt of passages."""
        return (self.passage_prompt,)

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say what becomes of long texts, and which prompt is wanted."""
        body: dict[str, Any] = {"inputs": texts, "truncate": self.truncate, "normalize": True}
        prompt = self.query_prompt if kind == "query" else self.passage_prompt
        given = {"prompt_name": prompt, "dimensions": self.dimensions}
        return body | {key: value for key, value in given.items() if value is not None}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts; tokens are not told."""
        return check_number(reply, wanted, "vectors"), None


class TeiRerankerSettings(ServedRerankerSettings):
    """A text-embeddings-inference server with a reranker."""

    provider: ClassVar[str] = "tei"
    address: ClassVar[str] = ADDRESS
    route: ClassVar[str] = "rerank"
    most_texts: ClassVar[int] = 32  # of a server as it is delivered
    type: Literal["tei"]
    model: str = MODEL
    url: Annotated[str, SENT_TO] = Field(ADDRESS, description="address of the server")

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Ask for probabilities; long texts lose their ends."""
        raw = self.scores == "logit"
        return {"query": query, "texts": texts, "raw_scores": raw, "truncate": True}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Read scores, which come best first; tokens are not told."""
        return reply, "score", None
