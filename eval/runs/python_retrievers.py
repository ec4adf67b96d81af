"""Functions and objects of somebody's own, judged like any retriever."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from eval.runs.code_identity import describe_code, identify, name_code
from retrievers.base import AssayError, Chunk, Document, Hit, IndexReport, Ranking, Retriever
from retrievers.base.answers import NamedChunks, read_answer

Search = Callable[[str, int], Any]


class FunctionRetriever(Retriever):
    """A function of a query and a number of hits, and what it returns as a ranking.

    `retrievers.base.answers` says what that may be. It knows its documents by itself. A finished
    run of it stands for a new one only where all that it refers to is known (see
    `eval.runs.code_identity`).
    """

    def __init__(self, function: Search) -> None:
        """Raise AssayError where the function cannot be called with a query and a number."""
        self._function = function
        self.name = name_code(function)
        self._chunks = NamedChunks(())
        self.nondeterministic = identify(function) is None
        try:
            inspect.signature(function).bind("query", 10)
        except TypeError as error:
            raise AssayError(
                f"{self.name}: must be callable as f(query, k), a text and a number: {error}"
            ) from None
        except ValueError:
            pass  # a builtin that does not tell what it takes

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Learn what an answer may name; the function is told nothing."""
        self._chunks = NamedChunks(documents)
        return IndexReport(len(documents))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` hits of the answer. Raises AssayError naming the query."""
        with _blame(self.name, query):
            answer = read_answer(self._function(query, k))[:k]
            return Ranking(tuple(Hit(self._chunks.find(at), score) for at, score in answer))

    def facts(self) -> Mapping[str, Any]:
        """Return the name, the source and the identity of the function."""
        return {"function": describe_code(self._function)}


class ObjectRetriever(Retriever):
    """Somebody's retriever: what it raises is told as an AssayError, and its class is noted."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self.name = name_code(retriever)
        self._described = describe_code(retriever)
        self.nondeterministic = (
            retriever.nondeterministic or self._described["identity"] == "unknown"
        )

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Let the object index. Raises AssayError where it fails."""
        with _blame(self.name):
            return self._retriever.index(documents)

    def search(self, query: str, k: int) -> Ranking:
        """Let the object search. Raises AssayError naming the query where it fails."""
        with _blame(self.name, query):
            return self._retriever.search(query, k)

    def without_query_cache(self) -> Retriever:
        """Return the object's own, with the same care."""
        return ObjectRetriever(self._retriever.without_query_cache())

    def list_chunks(self) -> Sequence[Chunk]:
        """Return what the object has indexed."""
        return self._retriever.list_chunks()

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Ask the legs of the object."""
        return self._retriever.probe(query, depth)

    def list_remote(self) -> Sequence[str] | None:
        """Return what the object says."""
        return self._retriever.list_remote()

    def facts(self) -> Mapping[str, Any]:
        """Return the object's facts, and the name, source and identity of its class."""
        return {**self._retriever.facts(), "object": self._described}


@contextmanager
def _blame(name: str, query: str | None = None) -> Iterator[None]:
    """Tell what somebody's code raises in one line, with its name and the query."""
    try:
        yield
    except AssayError as error:
        raise AssayError(f"{_place(name, query)}: {error}") from error
    except Exception as error:
        told = " ".join(str(error).split())
        raise AssayError(f"{_place(name, query)}: {type(error).__name__}: {told}") from error


def _place(name: str, query: str | None) -> str:
    return name if query is None else f"{name}: query {query!r}"
