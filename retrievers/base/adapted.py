"""A user's own retriever, whose answers may have any form that functions may return."""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from assay.retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    MetadataFilter,
    Ranking,
    Retriever,
)
from assay.retrievers.base.answers import NamedChunks


class AdaptedRetriever(Retriever):
    """A wrapper of `adapted`, whose answer may also be a list of hits, as `read_answer` takes it.

    `name` is its name in messages.
    """

    def __init__(self, adapted: Retriever) -> None:
        self.adapted = adapted
        self.name = str(getattr(adapted, "name", "") or type(adapted).__name__)
        self._documents: Sequence[Document] = ()
        self._chunks: NamedChunks | None = None

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]
        """True if equal searches may get different answers; for a pipeline known after `index`."""
        return self.adapted.nondeterministic

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Let it index."""
        self._documents, self._chunks = documents, None
        return self.adapted.index(documents)

    def search(self, query: str, k: int) -> Ranking:
        """Return its answer as a Ranking. Raises AssayError, naming the query, if that is none."""
        return self._adapt(query, self.adapted.search(query, k), k)

    def search_plain(self, query: str, k: int) -> Ranking:
        """Return its plain answer as `search` does."""
        return self._adapt(query, self.adapted.search_plain(query, k), k)

    def restrict(self, allowed: MetadataFilter) -> Self:
        """Return its own, adapted."""
        other = copy.copy(self)
        other.adapted = self.adapted.restrict(allowed)
        return other

    def without_query_cache(self) -> Retriever:
        """Return its own, adapted."""
        plain = self.adapted.without_query_cache()
        if plain is self.adapted:
            return self
        other = type(self)(plain)
        other._documents = self._documents
        return other

    def list_chunks(self) -> Sequence[Chunk]:
        """Return its indexed chunks."""
        return self.adapted.list_chunks()

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return the chunks that its legs find."""
        return self.adapted.probe(query, depth)

    def metadata(self) -> Mapping[str, Any]:
        """Return its facts."""
        return self.adapted.metadata()

    @property
    def asks_server(self) -> bool:
        """True if searches ask a server."""
        return self.adapted.asks_server

    def list_foreign(self) -> Collection[str] | None:
        """Return its own."""
        return self.adapted.list_foreign()

    def close(self) -> None:
        """Close it."""
        self.adapted.close()

    def _adapt(self, query: str, answer: object, k: int) -> Ranking:
        try:
            return self._read(answer, k)
        except AssayError as error:
            raise AssayError(f"{self.name}: query {query!r:.60}: {error}") from None

    def _read(self, answer: object, k: int) -> Ranking:
        if isinstance(answer, Ranking):
            return answer
        if isinstance(answer, list | tuple) and all(isinstance(hit, Hit) for hit in answer):
            return Ranking(tuple(answer))
        if self._chunks is None:
            self._chunks = NamedChunks(self._documents, self.adapted.list_chunks())
        return Ranking(self._chunks.rank(answer, k))
