"""Functions and objects of a user, judged like any retriever."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.eval.runs.code_identity import describe_code, name_code
from assay.eval.runs.contract import naming
from assay.retrievers.base import AssayError, Document, IndexReport, Ranking, Retriever
from assay.retrievers.base.adapted import AdaptedRetriever
from assay.retrievers.base.answers import NamedChunks

Search = Callable[[str, int], Any]


class FunctionRetriever(Retriever):
    """A function of a query and a number of hits, and what it returns as a ranking.

    `assay.retrievers.base.answers` describes the values that are allowed. The function knows its
    documents by itself. Its runs are never reused, since what it refers to may have changed.
    """

    nondeterministic = True

    def __init__(self, function: Search) -> None:
        """Raise AssayError where the function cannot be called with a query and a number."""
        self._function = function
        self.name = name_code(function)
        self._chunks = NamedChunks(())
        self._described = describe_code(function)
        try:
            inspect.signature(function).bind("query", 10)
        except TypeError as error:
            raise AssayError(
                f"{self.name}: must be callable as f(query, k), a text and a number: {error}"
            ) from None
        except ValueError:
            pass  # a builtin that does not tell what it takes

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Learn the documents that an answer may name; the function is not called."""
        self._chunks = NamedChunks(documents)
        return IndexReport(len(documents))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` hits of the answer. Raises AssayError naming the query."""
        with naming(f"{self.name}: query {query!r}", always=True):
            return Ranking(self._chunks.rank(self._function(query, k), k))

    def metadata(self) -> Mapping[str, Any]:
        """Return the name and the source of the function."""
        return {"function": self._described}


class ObjectRetriever(AdaptedRetriever):
    """A user's retriever: what it raises becomes an AssayError, and its class is recorded.

    Its runs are never reused, since it may hold anything.
    """

    nondeterministic = True

    def __init__(self, adapted: Retriever) -> None:
        super().__init__(adapted)
        self.name = name_code(adapted)
        self._described = describe_code(adapted)

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Let the object index. Raises AssayError where it fails."""
        with naming(self.name, always=True):
            return super().index(documents)

    def search(self, query: str, k: int) -> Ranking:
        """Let the object search. Raises AssayError naming the query where it fails."""
        with naming(f"{self.name}: query {query!r}", always=True):
            return self._read(self.adapted.search(query, k), k)

    def search_plain(self, query: str, k: int) -> Ranking:
        """Search as `search` does, if only chunks and their order are needed."""
        with naming(f"{self.name}: query {query!r}", always=True):
            return self._read(self.adapted.search_plain(query, k), k)

    def metadata(self) -> Mapping[str, Any]:
        """Return the object's facts, and the name and source of its class."""
        return {**super().metadata(), "object": self._described}
