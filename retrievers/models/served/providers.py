"""The providers of encoders and rerankers.

Encoders have OpenAI's wire form, rerankers Cohere's and Jina's, but for what each says differently.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.base import MARKS, USUAL_BYTES_PER_TOKEN
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.choice import CrossEncoderChoice
from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import check_number, clean, find_billed, order
from assay.retrievers.models.served.service import ServedSettings, Service, Unit
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.prices import Usage
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import ADDRESS
from assay.retrievers.store.digest import digest

TEI = "http://localhost:8080"


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


REVISION = 1  # raise it when the code below comes to ask for other scores
SEARCH = 100  # most texts in one search, for a provider that bills searches
SEARCH_TOKENS = 500  # most tokens of a text with the query; a longer one counts as several texts
LEAST_ROOM = 100  # tokens of those assumed to be left for the text whatever the query


class ServedRerankerSettings(ServedSettings, CrossEncoderChoice):
    """A reranking model behind HTTP, in Cohere's and Jina's form unless a class says otherwise."""

    route: ClassVar[str] = "rerank"  # where pairs are posted to, below the address
    rows: ClassVar[str] = "results"  # the key of an answer's rows
    most_texts: ClassVar[int] = 1000  # that the service takes in one call

    scores: Literal["logit", "probability"] = Field(
        "probability",
        description=(
            "what the model's numbers are: probability (0 to 1), or logit (any number, of which"
            " the logistic function makes 0 to 1)"
        ),
    )

    def build(self, resources: Resources) -> CrossEncoder:
        """Return the model. The service is not asked before a pair needs it."""
        return ServedCrossEncoder(self, resources)

    def write(self, query: str, texts: Sequence[str]) -> Any:
        """Return the body of a call."""
        return {"model": self.model, "query": query, "documents": texts}

    def read(self, reply: Any) -> tuple[Any, str, int | None]:
        """Return the rows, each with an `index`, the key of their scores, and what was billed,
        None if the service does not say. A malformed reply may raise any error.
        """
        return reply[self.rows], "relevance_score", find_billed(reply, self.billed)


class ServedCrossEncoder(CrossEncoder):
    """Asks a service for the scores of a query's texts."""

    def __init__(self, settings: ServedRerankerSettings, resources: Resources) -> None:
        self.prices = settings.prices
        self.unit = settings.billed
        self._settings = settings
        self._service = Service(settings, resources)

    @property
    def identity(self) -> str:
        """The digest of the address, the model and the unit of the scores requested."""
        given = self._settings
        kept = [given.provider, given.url, given.model, given.scores]
        return digest("served cross-encoder", REVISION, *kept)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text."""
        most = self._settings.most_texts
        parts = (texts[begin : begin + most] for begin in range(0, len(texts), most))
        return [score for part in parts for score in self._score(query, part)]

    def expect(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the searches that a call is, or the usual number of its tokens."""
        if self.unit == "searches":
            return Usage(math.ceil(len(texts) / SEARCH))
        size = sum(len(text.encode()) + len(query.encode()) for text in texts)
        return Usage(size // USUAL_BYTES_PER_TOKEN + len(texts))

    def metadata(self) -> Mapping[str, Any]:
        """Return the service's address and its price."""
        given = self._settings
        return {
            "model": given.model,
            "backend": given.provider,
            "url": given.url or given.address,
            **given.price_facts(),
        }

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        given = self._settings
        asked, *shown = map(clean, (query, *texts))

        def read(reply: Any) -> tuple[list[float], Usage]:
            rows, key, billed = given.read(reply)
            scores = [float(row[key]) for row in order(rows, len(texts), "scores")]
            counted = self.expect(asked, shown).prompt if billed is None else billed
            return scores, Usage(counted)

        try:
            reply = self._service.post(
                given.route, given.write(asked, shown), self._most(asked, shown), read
            )
        except TooLongError as error:
            raise AssayError(
                f"{given.where}: too long; allowed: shorter chunks, a smaller depth; {error}"
            ) from None
        if not all(map(math.isfinite, reply.value)):
            raise AssayError(f"{given.where}: gives a score that is not finite")
        return reply.value

    def _most(self, query: str, texts: Iterable[str]) -> int:
        """Return the most that a call can be billed for."""
        if self.unit == "searches":
            room = max(LEAST_ROOM, SEARCH_TOKENS - len(query.encode()))
            return math.ceil(sum(1 + len(text.encode()) // room for text in texts) / SEARCH)
        return sum(len(text.encode()) + len(query.encode()) + MARKS for text in texts)


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
