"""The part of a corpus that a filter allows to be found, and to be known."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from assay.retrievers.base import MetadataFilter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import QueryStep, StepResult

MOST = 256  # filters whose documents are remembered


@dataclass(frozen=True)
class Allowed:
    """The documents that meet a filter, and the positions of their chunks.

    `key` identifies the filter.
    """

    key: str
    documents: Set[str]
    positions: frozenset[int]

    def __and__(self, other: "Allowed") -> "Allowed":
        key, documents = f"{self.key} & {other.key}", self.documents & other.documents
        return Allowed(key, documents, self.positions & other.positions)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of documents, and of chunks as `allowed`."""
        return {"documents": len(self.documents), "allowed": len(self.positions)}


class Permissions:
    """The documents and chunks of one corpus that filters allow; each filter is applied once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._found: dict[str, Allowed] = {}

    def find(self, wanted: MetadataFilter) -> Allowed:
        """Return the documents and chunks that `wanted` allows."""
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


class View:
    """The part of a corpus that may be known, as a separate corpus for plug-ins to learn from."""

    def __init__(self, corpus: Corpus, allowed: Allowed) -> None:
        self.positions: Sequence[int] = sorted(allowed.positions)
        self._whole = corpus
        self._documents = allowed.documents

    @cached_property
    def corpus(self) -> Corpus:
        """The chunks and the documents, made at the first access."""
        documents = self._whole.documents
        return Corpus(
            [self._whole.chunks[i] for i in self.positions],
            [documents[id_] for id_ in documents if id_ in self._documents],
        )


class ViewStep(QueryStep):
    """A query step that has learned of a view; it counts positions there."""

    def __init__(self, step: QueryStep, view: View) -> None:
        self._step = step
        self._positions = view.positions
        self._numbers = {position: i for i, position in enumerate(view.positions)}
        step.index(view.corpus)

    def apply(self, request: LegQuery) -> StepResult:
        """Return the step's result for `request`."""
        held = self._numbers if request.allowed is None else request.allowed
        inner = frozenset(self._numbers[i] for i in held if i in self._numbers)
        result = self._step.apply(replace(request, allowed=inner))
        kept = inner if result.request.allowed is None else result.request.allowed & inner
        found = frozenset(self._positions[i] for i in kept)
        return replace(result, request=replace(result.request, allowed=found))
