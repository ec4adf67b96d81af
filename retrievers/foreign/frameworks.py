"""Retrievers that are objects of LangChain, LlamaIndex or Haystack, by import path or given.

What they return is put back into the documents by its text: see `NamedChunks.find_text`.
"""

import inspect
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from assay.retrievers.base import AssayError, Document, IndexReport, Ranking, Retriever
from assay.retrievers.base.answers import NamedChunks, complete, rank_chunks
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.settings.plugins import ObjectPath, load_object
from assay.retrievers.settings.trust import CODE
from assay.retrievers.store.user_code import digest_module, find_file

KEY = "retriever.object"
# Where loaders of these frameworks note what a document was made of, the surest first.
NAMES = ("doc_id", "document_id", "source", "file_path", "path", "file_name", "source_id")


class FrameworkHit(NamedTuple):
    """A text that a framework returned, with what it says of its place and score."""

    text: str
    names: Sequence[str]
    start: int | None
    score: float | None


class FrameworkSettings(Settings):
    """What every framework's retriever needs."""

    package: ClassVar[str]
    module: ClassVar[str]
    kind: ClassVar[str]
    method: ClassVar[str]

    object: Annotated[ObjectPath, CODE] = Field(
        description="module:name, importable from the working directory or the environment: a "
        "retriever that knows its documents, or a function of `documents` alone that makes one of "
        "a list of `assay.retrievers.base.Document`",
    )
    version: str = Field(
        "", description="of what it searches: while it is the same, a finished run stands for a new"
    )
    nondeterministic: bool = Field(
        False, description="it may answer differently at any time: no run is used again"
    )

    def build(self, documents: DocumentSettings, resources: Resources) -> Retriever:
        """Import the object; it cuts its documents itself. Raises AssayError."""
        return FrameworkRetriever(self)

    def load(self) -> Any:
        """Return the object. Raises AssayError, with the extra where the framework is missing."""
        try:
            return load_object(self.object, KEY)
        except AssayError as error:
            cause = error.__cause__
            missing = cause.name or "" if isinstance(cause, ImportError) else ""
            if missing.partition(".")[0] == self.module:
                raise self.without_package() from None
            raise

    def without_package(self) -> AssayError:
        """Return the error that names the framework's extra."""
        extra = str(self.model_dump()["type"])
        return AssayError(f"retriever.type: {extra}: {hint_extra(extra)}")

    @property
    def makes(self) -> bool:
        """Whether the object is a function that makes a retriever of `documents`.

        It is told by its only parameter: a config must not have just any function called. Raises
        AssayError.
        """
        found = self.load()
        return inspect.isfunction(found) and [*inspect.signature(found).parameters] == ["documents"]

    @abstractmethod
    def suits(self, found: Any) -> bool:
        """Say whether `found` is a retriever of the framework. Raises ImportError without it."""

    @abstractmethod
    def ask(self, retriever: Any, query: str) -> Iterable[FrameworkHit]:
        """Yield what `retriever` returns, best first."""


class LangChainSettings(FrameworkSettings):
    """A retriever of LangChain, asked by `invoke`."""

    package: ClassVar[str] = "langchain-core"
    module: ClassVar[str] = "langchain_core"
    kind: ClassVar[str] = "langchain_core.retrievers.BaseRetriever"
    method: ClassVar[str] = "invoke"
    type: Annotated[Literal["langchain"], CODE]

    def suits(self, found: Any) -> bool:
        """Say whether it is a BaseRetriever."""
        from langchain_core.retrievers import BaseRetriever

        return isinstance(found, BaseRetriever)

    def ask(self, retriever: Any, query: str) -> Iterable[FrameworkHit]:
        """Yield the documents; they have an order and no scores."""
        for item in retriever.invoke(query):
            names = _read_names(item.metadata, item.id)
            yield FrameworkHit(item.page_content, names, item.metadata.get("start_index"), None)


class LlamaIndexSettings(FrameworkSettings):
    """A retriever of LlamaIndex, asked by `retrieve`."""

    package: ClassVar[str] = "llama-index-core"
    module: ClassVar[str] = "llama_index"
    kind: ClassVar[str] = "llama_index.core.retrievers.BaseRetriever"
    method: ClassVar[str] = "retrieve"
    type: Annotated[Literal["llamaindex"], CODE]

    def suits(self, found: Any) -> bool:
        """Say whether it is a BaseRetriever."""
        from llama_index.core.retrievers import BaseRetriever

        return isinstance(found, BaseRetriever)

    def ask(self, retriever: Any, query: str) -> Iterable[FrameworkHit]:
        """Yield the nodes."""
        for item in retriever.retrieve(query):
            node = item.node
            names = _read_names(node.metadata, node.ref_doc_id, node.node_id)
            start = getattr(node, "start_char_idx", None)
            yield FrameworkHit(node.get_content(), names, start, item.score)


class HaystackSettings(FrameworkSettings):
    """A component of Haystack that takes a `query` and returns `documents`."""

    package: ClassVar[str] = "haystack-ai"
    module: ClassVar[str] = "haystack"
    kind: ClassVar[str] = "a component of Haystack that takes a query"
    method: ClassVar[str] = "run"
    type: Annotated[Literal["haystack"], CODE]

    def suits(self, found: Any) -> bool:
        """Say whether it is a component with an input `query`."""
        from haystack.core.component import Component

        inputs = getattr(found, "__haystack_input__", None)
        return isinstance(found, Component) and hasattr(inputs, "query")

    def ask(self, retriever: Any, query: str) -> Iterable[FrameworkHit]:
        """Yield the documents."""
        for item in retriever.run(query=query)["documents"]:
            names = _read_names(item.meta, item.id)
            yield FrameworkHit(
                item.content or "", names, item.meta.get("split_idx_start"), item.score
            )


class FrameworkRetriever(Retriever):
    """Asks somebody's retriever and finds the texts that it returns in the documents."""

    def __init__(self, settings: FrameworkSettings, given: Any = None) -> None:
        """Import the object unless it is `given`, and call nothing.

        Raises AssayError where what is imported does not suit.
        """
        self.nondeterministic = settings.nondeterministic
        self._settings = settings
        self._where = settings.object if given else f"{KEY}: {settings.object}"
        self._chunks = NamedChunks(())
        if given:
            self._make, self._retriever = None, given
            return
        found = settings.load()
        self._make = found if settings.makes else None
        self._retriever = None if self._make else self._check(found)

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Let a function make the retriever of `documents`; what is one already is told nothing."""
        if self._make:
            try:
                made = self._make(list(documents))
            except Exception as error:
                raise AssayError(f"{self._where}: {_tell(error)}") from error
            self._retriever = self._check(made)
        self._chunks = NamedChunks(documents)
        return IndexReport(len(documents))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` distinct texts of the answer, blank ones left out.

        Where a text has no score, all have that of their rank. Raises AssayError, naming the query,
        where the object fails or a text stands nowhere.
        """
        if not query.strip():
            return Ranking(())
        try:
            found = self._settings.ask(self._retriever, query)
            answer = [item for item in found if item.text.strip()]
            chunks = [self._chunks.find_text(item.text, item.names, item.start) for item in answer]
        except Exception as error:
            raise AssayError(f"{self._where}: query {query!r:.60}: {_tell(error)}") from error
        scores = [
            None if item.score is None or not math.isfinite(item.score) else float(item.score)
            for item in answer
        ]
        return Ranking(rank_chunks(zip(chunks, complete(scores), strict=True), k))

    def metadata(self) -> Mapping[str, Any]:
        """Return the object's path, the digest of its files, and the framework's version."""
        module = self._settings.object.partition(":")[0]
        try:
            version = metadata.version(self._settings.package)
        except metadata.PackageNotFoundError:  # an object that only looks like the framework's
            version = "none"
        return {
            "object": self._settings.object,
            "source": digest_module(module) if find_file(module) else "unknown",
            self._settings.package: version,
        }

    def _check(self, found: Any) -> Any:
        """Return `found`, a retriever of the framework. Raises AssayError for anything else."""
        try:
            suits = self._settings.suits(found)
        except ImportError:
            raise self._settings.without_package() from None
        if not suits:
            raise AssayError(
                f"{self._where}: {type(found).__module__}.{type(found).__qualname__} is not "
                f"{self._settings.kind}, nor a function of `documents` that makes one"
            )
        return found


def adapt(given: Any) -> FrameworkRetriever | None:
    """Return a retriever that asks an object of a framework; None where it is of none of them.

    It is told by its method: LangChain's `invoke`, LlamaIndex's `retrieve`, or `run` with a
    parameter `query`, which Haystack's components for queries have. It knows its documents by
    itself, and nobody else knows them, so that its runs are made again each time.
    """
    for framework in (LangChainSettings, LlamaIndexSettings, HaystackSettings):
        method = getattr(given, framework.method, None)
        if not inspect.ismethod(method) or isinstance(given, type):
            continue
        inputs = getattr(given, "__haystack_input__", None)  # of a SuperComponent too
        named = "query" in inspect.signature(method).parameters or hasattr(inputs, "query")
        if framework is HaystackSettings and not named:
            continue
        called = f"{type(given).__module__}:{type(given).__qualname__}"
        values: dict[str, Any] = {"object": called, "nondeterministic": True}
        return FrameworkRetriever(framework.model_construct(**values), given)
    return None


def _read_names(said: Mapping[str, Any], *ids: str | None) -> list[str]:
    """Return what may name the document of a text, the surest first."""
    return [str(name) for name in (*(said.get(key) for key in NAMES), *ids) if name]


def _tell(error: Exception) -> str:
    """Return an error in one line."""
    told = " ".join(str(error).split())
    return told if isinstance(error, AssayError) else f"{type(error).__name__}: {told}"
