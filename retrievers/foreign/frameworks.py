"""Retrievers that are objects of LangChain, LlamaIndex or Haystack, by import path or given.

Their answers are located in the documents by text: see `NamedChunks.find_text`.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Annotated, Any, Literal, NamedTuple

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
# The keys in which loaders of these frameworks note the source of a document, the surest first.
NAMES = ("doc_id", "document_id", "source", "file_path", "path", "file_name", "source_id")


class FrameworkHit(NamedTuple):
    """A text that a framework returned, with its place and score."""

    text: str
    names: Sequence[str]
    start: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Framework:
    """The way to recognize and to ask the retrievers of a framework.

    `base` is the path of their class, of the distribution `package`. `method` is what `ask` calls;
    it returns the hits, best first.
    """

    package: str
    base: str
    method: str
    ask: Callable[[Any, str], Iterable[FrameworkHit]]

    @property
    def module(self) -> str:
        """The name of its uppermost module."""
        return self.base.partition(".")[0]

    def suits(self, found: Any) -> bool:
        """Return True if `found` is such a retriever. Raises ImportError without the package."""
        module, _, name = self.base.rpartition(".")
        return isinstance(found, getattr(import_module(module), name)) and (
            self.module != "haystack" or _takes_query(found)
        )


def _ask_langchain(retriever: Any, query: str) -> Iterable[FrameworkHit]:
    """Yield the documents; they have an order and no scores."""
    for item in retriever.invoke(query):
        names = _read_names(item.metadata, item.id)
        yield FrameworkHit(item.page_content, names, item.metadata.get("start_index"), None)


def _ask_llamaindex(retriever: Any, query: str) -> Iterable[FrameworkHit]:
    for item in retriever.retrieve(query):
        node = item.node
        names = _read_names(node.metadata, node.ref_doc_id, node.node_id)
        start = getattr(node, "start_char_idx", None)
        yield FrameworkHit(node.get_content(), names, start, item.score)


def _ask_haystack(retriever: Any, query: str) -> Iterable[FrameworkHit]:
    for item in retriever.run(query=query)["documents"]:
        names = _read_names(item.meta, item.id)
        yield FrameworkHit(item.content or "", names, item.meta.get("split_idx_start"), item.score)


FRAMEWORKS: Mapping[str, Framework] = {
    "langchain": Framework(
        "langchain-core",
        "langchain_core.retrievers.BaseRetriever",
        "invoke",
        _ask_langchain,
    ),
    "llamaindex": Framework(
        "llama-index-core",
        "llama_index.core.retrievers.BaseRetriever",
        "retrieve",
        _ask_llamaindex,
    ),
    "haystack": Framework("haystack-ai", "haystack.core.component.Component", "run", _ask_haystack),
}


class FrameworkSettings(Settings):
    """A retriever of LangChain, LlamaIndex or Haystack."""

    type: Annotated[Literal["langchain", "llamaindex", "haystack"], CODE]
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

    @property
    def framework(self) -> Framework:
        """The one that `type` names."""
        return FRAMEWORKS[self.type]

    def load(self) -> Any:
        """Return the object. Raises AssayError, with the extra where the framework is missing."""
        try:
            return load_object(self.object, KEY)
        except AssayError as error:
            cause = error.__cause__
            missing = cause.name or "" if isinstance(cause, ImportError) else ""
            if missing.partition(".")[0] == self.framework.module:
                raise self.without_package() from None
            raise

    def without_package(self) -> AssayError:
        """Return the error that names the framework's extra."""
        return AssayError(f"retriever.type: {self.type}: {hint_extra(self.type)}")

    @property
    def makes(self) -> bool:
        """True if the object is a function that makes a retriever of `documents`.

        It is recognized by its only parameter: a config must not get just any function called.
        Raises AssayError.
        """
        found = self.load()
        return inspect.isfunction(found) and [*inspect.signature(found).parameters] == ["documents"]


class FrameworkRetriever(Retriever):
    """A retriever that asks a framework's and finds the returned texts in the documents."""

    def __init__(self, settings: FrameworkSettings, given: Any = None) -> None:
        """Import the object unless it is `given`, and call nothing.

        Raises AssayError if the imported object does not suit.
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
        """Let a function make the retriever of `documents`; an object gets none."""
        if self._make:
            try:
                made = self._make(list(documents))
            except Exception as error:
                raise AssayError(f"{self._where}: {_tell(error)}") from error
            self._retriever = self._check(made)
        self._chunks = NamedChunks(documents)
        return IndexReport(len(documents))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` distinct texts of the answer, without blank ones.

        If a text has no score, all get that of their rank. Raises AssayError, naming the query, if
        the object fails or a text is not in the documents.
        """
        if not query.strip():
            return Ranking(())
        try:
            found = self._settings.framework.ask(self._retriever, query)
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
            version = metadata.version(self._settings.framework.package)
        except metadata.PackageNotFoundError:  # an object that only looks like the framework's
            version = "none"
        return {
            "object": self._settings.object,
            "source": digest_module(module) if find_file(module) else "unknown",
            self._settings.framework.package: version,
        }

    def _check(self, found: Any) -> Any:
        """Return `found`, a retriever of the framework. Raises AssayError for anything else."""
        try:
            suits = self._settings.framework.suits(found)
        except ImportError:
            raise self._settings.without_package() from None
        if not suits:
            raise AssayError(
                f"{self._where}: {type(found).__module__}.{type(found).__qualname__} is not "
                f"{self._settings.framework.base}, nor a function of `documents` that makes one"
            )
        return found


def adapt(given: Any) -> FrameworkRetriever | None:
    """Return a retriever that asks an object of a framework; None for any other object.

    It is recognized by its method: LangChain's `invoke`, LlamaIndex's `retrieve`, or `run` with a
    parameter `query`, which Haystack's components for queries have. It knows its documents by
    itself, and nobody else knows them, so that its runs are never reused.
    """
    for type_, framework in FRAMEWORKS.items():
        method = getattr(given, framework.method, None)
        if not inspect.ismethod(method) or isinstance(given, type):
            continue
        if type_ == "haystack" and not _takes_query(given):
            continue
        called = f"{type(given).__module__}:{type(given).__qualname__}"
        values: dict[str, Any] = {"type": type_, "object": called, "nondeterministic": True}
        return FrameworkRetriever(FrameworkSettings.model_construct(**values), given)
    return None


def _takes_query(component: Any) -> bool:
    """Return True if a component of Haystack takes a query; a SuperComponent declares it only."""
    inputs = getattr(component, "__haystack_input__", None)
    return hasattr(inputs, "query") or "query" in inspect.signature(component.run).parameters


def _read_names(said: Mapping[str, Any], *ids: str | None) -> list[str]:
    """Return the possible names of the document of a text, the surest first."""
    return [str(name) for name in (*(said.get(key) for key in NAMES), *ids) if name]


def _tell(error: Exception) -> str:
    """Return an error in one line."""
    told = " ".join(str(error).split())
    return told if isinstance(error, AssayError) else f"{type(error).__name__}: {told}"
