"""What of a corpus a filter allows to be found."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from assay.retrievers.base import MetadataFilter
from assay.retrievers.corpus.corpus import Corpus

MOST = 256  # filters whose documents are remembered


@dataclass(frozen=True)
class Allowed:
    """The documents that meet a filter, and the positions of their chunks.

    `key` tells the filter from all others.
    """

    key: str
    documents: Set[str]
    positions: frozenset[int]

    def __and__(self, other: "Allowed") -> "Allowed":
        key, documents = f"{self.key} & {other.key}", self.documents & other.documents
        return Allowed(key, documents, self.positions & other.positions)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many there are of both."""
        return {"documents": len(self.documents), "allowed": len(self.positions)}


class Permissions:
    """What filters allow of one corpus. A filter is held against the documents once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._found: dict[str, Allowed] = {}

    def find(self, wanted: MetadataFilter) -> Allowed:
        """Return what `wanted` allows."""
        key = repr(wanted)
        if key not in self._found:
            if len(self._found) >= MOST:
                self._found.clear()
            self._found[key] = self._find(key, wanted)
        return self._found[key]

    def _find(self, key: str, wanted: MetadataFilter) -> Allowed:
        held, by_document = self._corpus.documents.items(), self._corpus.by_document
        documents = {id_ for id_, document in held if wanted.matches(document.metadata)}
        positions = frozenset(i for id_ in documents for i in by_document.get(id_, ()))
        return Allowed(key, documents, positions)
