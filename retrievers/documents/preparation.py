"""The preparation of documents: the chunks that a pipeline indexes."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.base import AssayError, Chunk, Document, Quiet
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.documents.chunk_cache import NOTHING, ChunkCache, ChunkedDocuments
from assay.retrievers.documents.chunkers import AnyChunker, StructureChunker, take_passages
from assay.retrievers.documents.contexts import ContextSettings, Source, contextualise
from assay.retrievers.documents.conversion.converters import AnyConverter
from assay.retrievers.model_files.pins import DEFAULT_TOKENIZER
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.chunk_store import (
    ChunkStore,
    describe_shared,
    read_chunks,
    write_chunks,
)
from assay.retrievers.store.digest import digest, digest_texts
from assay.retrievers.store.lazy_sequence import (
    IdSequence,
    PassageSequence,
    sort_places,
    take_block,
)

REVISION = 1  # raise it when chunks are finished differently, or the contents of the file change
BLOCK = 1 << 20  # characters of documents on a shelf that are held at once
SHORTEST = 1 << 10  # the least size that a document counts as
FACTS = "facts.json"
NO_TEXT = "the collection has no text to search: every document is empty"


class DocumentSettings(Settings):
    """The way from documents to chunks."""

    converter: AnyConverter | None = Field(
        None,
        description="what reads the files of a folder: markitdown, or a command; if not given, "
        "markitdown; documents of a collection are as it has them",
    )
    passages: bool = Field(
        True, description="search the passages the collection prescribes, where it does"
    )
    chunker: AnyChunker = Field(
        default_factory=StructureChunker,
        description="how documents without prescribed passages are cut",
    )
    tokenizer: str = Field(
        DEFAULT_TOKENIZER,
        min_length=1,
        description="whose tokens the chunker counts: a pinned tokenizer or encoder, or a folder "
        "that holds tokenizer.json; the default counts as bge-small-en-v1.5 and all-MiniLM-L6-v2",
    )
    headings: bool = Field(
        False, description="index the path of headings with each chunk, unless its context has it"
    )
    frontmatter: Literal["none", "chunk", "text"] = Field(
        "none",
        description="index the YAML block at a document's head: not at all, unless there is no "
        "other text; as a chunk of its own; or its title, description, keywords, tags, aliases, "
        "author and category with each chunk",
    )
    references: bool = Field(
        True,
        description="read cross-references: ingestion counts them, and hits tell theirs and what "
        "points where; in a ranking a leg of type graph alone follows them",
    )
    context: ContextSettings = Field(
        default_factory=ContextSettings, description="what is put before each chunk"
    )

    def cuts(self, document: Document) -> bool:
        """Return True if the chunker cuts `document`: it is not searched by prescribed passages."""
        return not (self.passages and document.passages)


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Chunks in descending order of id, the source of their contexts, and the seconds of cutting.

    The seconds are of the work itself, also if all of it was `cached`; 0 if nothing is cut.
    `cut` has all chunks of the documents that were cut; it is empty for documents on a shelf.
    `facts` describe the chunks that were cut: `tokens`, pairs of a size and the number of chunks of
    that size; `limit`, the chunker's maximum; `oversize`, the number of chunks that exceed it; and
    `integrity_failures`, the number of documents that cannot be rebuilt from their chunks.
    """

    chunks: Sequence[Chunk]
    context_source: Source
    seconds: float
    cached: bool
    facts: Mapping[str, Any]
    cut: ChunkedDocuments = NOTHING


def prepare(
    documents: Sequence[Document], settings: DocumentSettings, resources: Resources
) -> PreparedDocuments:
    """Return the chunks of `documents` with their contexts, lazily if `documents` is lazy.

    Raises AssayError when there is nothing to search, or when two chunks share an id.
    """
    source = settings.context.resolve(documents)
    if isinstance(documents, PassageSequence) and settings.passages:
        return PreparedDocuments(
            _shelve(documents, settings, source, resources), source, 0.0, False, {}
        )
    cutting = ChunkCache(settings.chunker, settings.tokenizer, resources)
    if isinstance(documents, IdSequence):
        return _tabulate(documents, settings, source, cutting, resources)
    cut = cutting.cut(list(filter(settings.cuts, documents)), resources.progress)
    tally = _Tally(settings.chunker.limit)
    made = _finish_each(documents, cut, settings, source, tally)
    chunks = sorted(chain.from_iterable(made), key=lambda chunk: chunk.id, reverse=True)
    if not chunks:
        raise AssayError(NO_TEXT)
    for one, other in pairwise(chunks):
        if one.id == other.id:
            raise AssayError(describe_shared(one.doc_id, other.doc_id, one.id))
    return PreparedDocuments(tuple(chunks), source, cut.work, cut.cached, tally.facts(), cut)


def _shelve(
    documents: IdSequence[Document],
    settings: DocumentSettings,
    source: Source,
    resources: Resources,
) -> ChunkStore:
    """Return the passages of `documents` that hold text, in descending order of id."""

    def make(document: Document) -> list[Chunk]:
        return _finish(take_passages(document), document, settings, source)

    names, places = [], array("i")
    tracked = resources.progress.track(documents, "reading passages", len(documents))
    for place, document in enumerate(tracked):
        if make(document):
            names.append(document.id)
            places.append(place)
    if not names:
        raise AssayError(NO_TEXT)
    order = array("i", (places[i] for i in sort_places(names)))
    return ChunkStore(documents.hashes[order], lambda i: make(documents[order[i]])[0])


def _tabulate(
    documents: IdSequence[Document],
    settings: DocumentSettings,
    source: Source,
    cutting: ChunkCache,
    resources: Resources,
) -> PreparedDocuments:
    """Return the chunks of `documents` in a file; one block at a time is in memory."""
    progress = resources.progress
    tracked = progress.track(documents, "reading documents", len(documents))
    content = digest_texts(map(repr, tracked))
    cuts = any(map(settings.cuts, documents))
    recipe = cutting.recipe if cuts else ""
    key = digest("chunks", REVISION, settings, source, recipe, content)

    def make(folder: Path) -> None:
        tally = _Tally(settings.chunker.limit)

        def finish_each() -> Iterator[list[Chunk]]:
            rest = progress.track(
                documents, "chunking" if cuts else "reading passages", len(documents)
            )
            while block := take_block(rest, lambda item: max(len(item.text), SHORTEST), BLOCK):
                cut = cutting.cut(list(filter(settings.cuts, block)), Quiet())
                yield from _finish_each(block, cut, settings, source, tally)

        if not write_chunks(finish_each(), folder):
            raise AssayError(NO_TEXT)
        (folder / FACTS).write_text(json.dumps([tally.seconds, tally.facts()]))

    def read(folder: Path) -> tuple[ChunkStore, float, dict[str, Any]]:
        return read_chunks(folder), *json.loads((folder / FACTS).read_text())

    folder, (chunks, seconds, facts) = resources.cache.load("chunk_files", key, make, read)
    return PreparedDocuments(chunks, source, seconds, folder.cached and cuts, facts)


class _Tally:
    """Running counts of the chunks that were cut."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._sizes: Counter[int] = Counter()
        self._cut = False
        self._lossy = 0
        self.seconds = 0.0

    def add_cut(self, cut: ChunkedDocuments) -> None:
        """Count the results for some documents."""
        self._cut |= bool(cut.chunks)
        self._lossy += len(cut.lossy)
        self.seconds += cut.work

    def add_sizes(self, tokens: Iterable[int]) -> None:
        """Count searched chunks, by their tokens."""
        self._sizes.update(tokens)

    def facts(self) -> dict[str, Any]:
        """Return the facts on the chunks, as `PreparedDocuments` has them."""
        if not self._cut:
            return {}
        return {
            "limit": self._limit,
            "tokens": [[size, number] for size, number in sorted(self._sizes.items())],
            "oversize": sum(
                number for size, number in self._sizes.items() if self._limit and size > self._limit
            ),
            "integrity_failures": self._lossy,
        }


def _finish_each(
    documents: Iterable[Document],
    cut: ChunkedDocuments,
    settings: DocumentSettings,
    source: Source,
    tally: _Tally,
) -> Iterator[list[Chunk]]:
    """Yield the searched chunks of each document, and `tally` those that were cut."""
    tally.add_cut(cut)
    for document in documents:
        own = cut.chunks.get(document.id)
        finished = _finish(
            take_passages(document) if own is None else own, document, settings, source
        )
        if own is not None:
            tally.add_sizes(cut.tokens[chunk.id] for chunk in finished)
        yield finished


def _finish(
    plain: Sequence[Chunk], document: Document, settings: DocumentSettings, source: Source
) -> list[Chunk]:
    """Return the searched chunks of a document, with the text put before each."""
    searched = [chunk for chunk in plain if _is_searched(chunk, settings)]
    if not searched and read_frontmatter(document.text).text:
        searched = [chunk for chunk in plain if chunk.kind == "frontmatter"]
    contextual = contextualise(searched, document, source, settings.context.opening_words)
    return _preface(contextual, document, settings, source)


def _is_searched(chunk: Chunk, settings: DocumentSettings) -> bool:
    """Return True if a chunk has text to find; others only complete the document."""
    hidden = chunk.kind == "frontmatter" and settings.frontmatter != "chunk"
    return bool(f"{chunk.title}{chunk.text}".strip()) and not hidden


def _preface(
    chunks: Sequence[Chunk], document: Document, settings: DocumentSettings, source: Source
) -> list[Chunk]:
    """Return `chunks` with the text that the settings put before the context of each."""
    about = read_frontmatter(document.text).text if settings.frontmatter == "text" else ""
    headings = settings.headings and source not in ("headings", "opening+headings", "auto")
    if not (about or headings):
        return list(chunks)
    return [
        replace(
            chunk,
            context="\n\n".join(
                filter(None, (about, " > ".join(chunk.headings) * headings, chunk.context))
            ),
        )
        for chunk in chunks
    ]
