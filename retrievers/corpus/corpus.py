"""The corpus of a pipeline: chunks, and the documents they were cut from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import overload

from assay.retrievers.base import Chunk, Document
from assay.retrievers.base.frontmatter import Frontmatter, read_frontmatter
from assay.retrievers.documents.structure.structure import Structure, parse_document
from assay.retrievers.fusion.ranking import DeepList, Scored
from assay.retrievers.models.caching import CachingEncoder, EncodedTexts
from assay.retrievers.settings import Resources
from assay.retrievers.store.chunk_store import ChunkStore
from assay.retrievers.store.digest import Texts, digest, digest_texts
from assay.retrievers.store.lazy_sequence import ById, IdList, IdSequence
from assay.retrievers.text.analyzers import AnyAnalyzerSettings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.term_counts import CorpusCounts, find_counts


class Corpus:
    """Chunks in descending order of id, their documents by id, and data derived from both.

    Chunks and documents on a shelf stay there, and are read again each time they are used.
    A chunk's position is its place in `chunks`. Legs, query steps and stages share one corpus, so
    that what several of them need is computed once.
    """

    def __init__(self, chunks: Sequence[Chunk], documents: Iterable[Document] = ()) -> None:
        self.chunks = chunks if isinstance(chunks, ChunkStore) else tuple(chunks)
        self.documents: Mapping[str, Document] = (
            ById(documents, documents.__getitem__)
            if isinstance(documents, IdSequence)
            else {document.id: document for document in documents}
        )
        self._encoded: dict[str, EncodedTexts] = {}
        self._counted: dict[str, CorpusCounts] = {}
        self._analyzers: dict[str, Analyzer] = {}

    @cached_property
    def texts(self) -> Sequence[str]:
        """The `searchable` text of each chunk."""
        chunks = self.chunks
        if isinstance(chunks, ChunkStore):
            return Texts(len(chunks), lambda i: chunks[i].searchable)
        return [chunk.searchable for chunk in chunks]

    @cached_property
    def digest(self) -> str:
        """The digest of `texts`."""
        return digest_texts(self.texts)

    @cached_property
    def content(self) -> str:
        """The digest of chunks and documents with all their fields."""
        return digest_texts(map(repr, (*self.chunks, *self.documents.values())))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each chunk by its id."""
        if isinstance(self.chunks, ChunkStore):
            return ById(self.chunks, int)
        return {chunk.id: position for position, chunk in enumerate(self.chunks)}

    def name(self, listed: Sequence[Scored]) -> "ListedIds":
        """Return the ids of the chunks of a list."""
        return ListedIds(self, listed)

    @cached_property
    def by_document(self) -> Mapping[str, Sequence[int]]:
        """The positions of each document's chunks, in the order of the text."""
        if isinstance(self.chunks, ChunkStore):
            return self.chunks.by_document
        found: dict[str, list[int]] = {}
        order = sorted(range(len(self.chunks)), key=lambda i: (self.chunks[i].start, -i))
        for position in order:
            found.setdefault(self.chunks[position].doc_id, []).append(position)
        return found

    @cached_property
    def frontmatter(self) -> Mapping[str, Frontmatter]:
        """The frontmatter of each document, by document id."""
        return {id_: read_frontmatter(document.text) for id_, document in self.documents.items()}

    @cached_property
    def structures(self) -> Mapping[str, Structure]:
        """The structure of each document, by document id."""
        return {id_: parse_document(document) for id_, document in self.documents.items()}

    def encode(self, encoder: CachingEncoder) -> EncodedTexts:
        """Return the vectors of the chunks' `searchable` texts, shape (chunks, dimensions)."""
        if encoder.identity not in self._encoded:
            self._encoded[encoder.identity] = encoder.encode(self.texts)
        return self._encoded[encoder.identity]

    def count_terms(self, analyzer: AnyAnalyzerSettings, resources: Resources) -> CorpusCounts:
        """Return the count of each term in each chunk; report a doubt about the counts once."""
        key = digest(analyzer)
        if key not in self._counted:
            counted = find_counts(self.texts, self.digest, analyzer, resources)
            if counted.doubt:
                resources.progress.say(f"warning: {counted.doubt}")
            self._counted[key] = counted
        return self._counted[key]

    def find_analyzer(self, settings: AnyAnalyzerSettings) -> Analyzer:
        """Return the analyzer of queries, which remembers its results for words."""
        key = digest(settings)
        if key not in self._analyzers:
            self._analyzers[key] = settings.build()
        return self._analyzers[key]

    def forget_analyzers(self) -> None:
        """Drop the analyzers, so that later calls get new ones without remembered words."""
        self._analyzers.clear()


class ListedIds(IdList):
    """The ids of the chunks of a leg's list, created when they are read."""

    def __init__(self, corpus: Corpus, listed: Sequence[Scored]) -> None:
        self._corpus, self._listed = corpus, listed

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> list[str]: ...

    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self._corpus.chunks[position].id for position, _ in self._listed[i]]
        return self._corpus.chunks[self._listed[i][0]].id

    def find(self, wanted: Iterable[str]) -> dict[str, int]:
        """Return the place of each, counted from the scores if the list is not sorted yet."""
        listed = self._listed
        if isinstance(listed, DeepList):
            find: Callable[[int], int | None] = listed.find
        else:
            find = {position: i for i, (position, _) in enumerate(listed)}.get
        positions = self._corpus.positions
        known = {id_: positions[id_] for id_ in wanted if id_ in positions}
        places = {id_: find(position) for id_, position in known.items()}
        return {id_: place for id_, place in places.items() if place is not None}
