"""Definitions: hits carry the documents' definitions of the terms in them."""

import copy
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from pydantic import Field

from assay.retrievers.base import Chunk, Definition, Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.corpus.glossary import Entry, Glossary, read_words
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings


class DefinitionsSettings(StageSettings):
    """Gives the best hits the definitions of the defined terms they use."""

    type: Literal["definitions"]
    depth: int = Field(10, ge=1, description="how many hits are given definitions")
    limit: int = Field(5, ge=1, description="how many definitions a hit is given at most")

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Definitions(self.depth, self.limit, resources)


class Definitions(Stage):
    """Adds definitions to the first `depth` hits; neither hits nor their order change.

    If a term has several definitions, the one in the same document counts, under the most titles
    in common, then the nearest. A definition in another document counts only if that is a glossary,
    and the only one that has the term.
    """

    def __init__(self, depth: int, limit: int, resources: Resources) -> None:
        self._depth = depth
        self._limit = limit
        self._resources = resources
        self.index(Corpus(()), 1.0)

    def index(self, corpus: Corpus, top: float) -> None:
        """Find the definitions of the documents, or take them from the cache."""
        self._corpus = corpus
        self._glossary = Glossary(corpus, self._resources)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits`, the first of them with definitions."""
        given = [replace(hit, definitions=self._define(hit.chunk)) for hit in hits[: self._depth]]
        sizes = [len(hit.definitions) for hit in given]
        counts = {"definitions": sum(sizes), "hits": sum(map(bool, sizes))}
        note = f"{sum(sizes)} definitions for {counts['hits']} hits" if any(sizes) else ""
        return StageResult([*given, *hits[self._depth :]], note, counts)

    def restrict(self, documents: Set[str]) -> Stage:
        """Return the stage with only the definitions of these documents."""
        other = copy.copy(self)
        other._glossary = self._glossary.restrict(documents)
        return other

    def _define(self, chunk: Chunk) -> tuple[Definition, ...]:
        """Return the definitions of terms in `chunk` in the order of the terms.

        Those of its own document come first, and short names after what says what a term means.
        """
        found = []
        for term in dict.fromkeys(self._terms(chunk.text)):
            entries = self._glossary.entries[term]
            here = (
                entry.doc_id == chunk.doc_id and chunk.start <= entry.definition.at < chunk.end
                for entry in entries
            )
            if not any(here) and (entry := _choose(entries, chunk)):
                found.append(entry)
        found.sort(key=lambda entry: (entry.doc_id != chunk.doc_id, entry.scope == 2))
        return tuple(map(self._quote, found[: self._limit]))

    def _terms(self, text: str) -> Iterator[str]:
        """Yield the defined terms of `text`, of overlapping ones the first and longest."""
        words = read_words(text)
        i = 0
        while i < len(words):
            term = self._glossary.longest_term(words, i)
            if term:
                yield term
            i += term.count(" ") + 1

    def _quote(self, entry: Entry) -> Definition:
        found = entry.definition
        text = self._corpus.documents[entry.doc_id].text[found.start : found.end].strip()
        return Definition(found.term, text, found.exceptions, entry.doc_id, found.start, found.end)


def _choose(entries: Sequence[Entry], chunk: Chunk) -> Entry | None:
    """Return the definition that is in force in `chunk`, if one is."""
    own = [entry for entry in entries if entry.doc_id == chunk.doc_id]
    if own:
        return min(
            own,
            key=lambda entry: (
                -_count_shared(entry.titles, chunk.headings),
                entry.scope,
                abs(entry.definition.at - chunk.start),
            ),
        )
    shared = [entry for entry in entries if entry.shared]
    return shared[0] if len({entry.doc_id for entry in shared}) == 1 else None


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many titles two paths have in common from the outermost on."""
    pairs = zip(one, other, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
