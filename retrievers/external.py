"""Retrievers that live elsewhere: a Python class by its dotted path, or an HTTP service."""

import os
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core.core_schema import CoreSchema

from retrievers.base import AssayError, Chunk, Document, Hit, IndexReport, Ranking, Retriever
from retrievers.documents.preparation import DocumentSettings, prepare
from retrievers.settings import Settings, Workshop, explain_error
from retrievers.settings.plugins import load_class


class PythonSettings(Settings):
    """A class of yours that keeps the contract `retrievers.base.Retriever`."""

    largest: ClassVar[float] = inf  # the arguments are the class's own affair

    type: Literal["python"]
    path: str = Field(
        pattern=r"^[\w.]+:\w+$",
        description="module:Class, importable from the working directory or the environment; "
        "`class` is the same key",
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the class"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_class(cls, value: Any) -> Any:
        if isinstance(value, dict) and "class" in value and "path" not in value:
            return {"path" if key == "class" else key: item for key, item in value.items()}
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(
            super().__get_pydantic_json_schema__(core_schema, handler)
        )
        schema["properties"]["class"] = schema["properties"]["path"]
        schema["required"].remove("path")
        return {**schema, "oneOf": [{"required": ["path"]}, {"required": ["class"]}]}

    def build(self, documents: DocumentSettings, workshop: Workshop) -> Retriever:
        """Import the class and make an instance; it cuts its documents itself."""
        made = load_class(self.path, Retriever, "retriever.path")
        try:
            return made(**self.arguments)
        except TypeError as error:
            raise AssayError(f"retriever.arguments: {self.path}: {error}") from error


class HttpSettings(Settings):
    """A service that answers POST {"query", "k"} with {"hits": [{"id", "score"}, …]}.

    An id is that of a chunk, as `documents:` cuts it, or of a whole document. Indexing is the
    service's own affair.
    """

    type: Literal["http"]
    url: str = Field(
        pattern=r"^https?://[^@]+$", description="address of the search endpoint, no credentials"
    )
    token_variable: str = Field(
        "", description="environment variable that holds a bearer token, where one is needed"
    )
    timeout: float = Field(10.0, gt=0, description="seconds to wait for one answer")

    def build(self, documents: DocumentSettings, workshop: Workshop) -> Retriever:
        """Return a client of the service."""
        return HttpRetriever(self, documents, workshop)

    def headers(self) -> dict[str, str]:
        """Return the headers that identify the caller. Raises AssayError without the token."""
        if not self.token_variable:
            return {}
        token = os.environ.get(self.token_variable)
        if not token:
            raise AssayError(f"retriever.token_variable: ${self.token_variable} is not set")
        return {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True)
class _HitRow:
    id: str
    score: float


@dataclass(frozen=True)
class _Answer:
    hits: list[_HitRow]


class HttpRetriever(Retriever):
    """Asks an HTTP service and maps the ids it returns onto chunks."""

    def __init__(
        self, settings: HttpSettings, documents: DocumentSettings, workshop: Workshop
    ) -> None:
        import httpx

        self._settings = settings
        self._documents = documents
        self._workshop = workshop
        self._client = httpx.Client(timeout=settings.timeout, headers=settings.headers())
        self._chunks: dict[str, Chunk] = {}

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Learn the ids that an answer may name; nothing is sent."""
        whole = {
            item.id: Chunk(item.id, item.id, 0, len(item.text), item.text, item.title)
            for item in documents
        }
        prepared = prepare(documents, self._documents, self._workshop)
        self._chunks = whole | {chunk.id: chunk for chunk in prepared.chunks}
        return IndexReport(len(prepared.chunks))

    def search(self, query: str, k: int) -> Ranking:
        """Return what the service answers, its first `k` distinct hits by score.

        Raises AssayError when it does not answer, or not in the agreed form.
        """
        import httpx

        url = self._settings.url
        try:
            response = self._client.post(url, json={"query": query, "k": k})
            response.raise_for_status()
            answer = TypeAdapter(_Answer).validate_json(response.content)
        except httpx.HTTPStatusError as error:
            raise AssayError(f"{url}: answered {error.response.status_code}") from error
        except httpx.HTTPError as error:
            raise AssayError(f"{url}: {error or type(error).__name__}") from error
        except ValidationError as error:
            raise AssayError(
                f"{url}: the answer: {explain_error(error)}; "
                'expected {"hits": [{"id": "…", "score": 1.0}, …]}'
            ) from error
        hits = [Hit(self._chunk(row.id), row.score) for row in answer.hits]
        distinct = {hit.chunk.id: hit for hit in reversed(hits)}
        best = sorted(distinct.values(), key=lambda hit: (hit.score, hit.chunk.id), reverse=True)
        return Ranking(tuple(best[:k]))

    def facts(self) -> Mapping[str, Any]:
        """Say where the service is."""
        return {"url": self._settings.url}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _chunk(self, id_: str) -> Chunk:
        if id_ not in self._chunks:
            raise AssayError(
                f"{self._settings.url}: returned the id {id_!r}, which is neither a chunk nor a "
                "document of the collection"
            )
        return self._chunks[id_]
