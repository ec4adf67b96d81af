"""From documents to the chunks a pipeline indexes."""

import json
import time
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from retrievers.base import AssayError, Chunk, Document
from retrievers.base.frontmatter import read_frontmatter
from retrievers.documents.chunkers import (
    AnyChunker,
    Chunker,
    StructureChunker,
    is_intact,
    take_passages,
)
from retrievers.documents.contexts import ContextSettings, Source, contextualise
from retrievers.documents.converters import AnyConverter
from retrievers.documents.tokens import AtBlanks, Tokenize, TokenMap
from retrievers.models.pins import DEFAULT_TOKENIZER
from retrievers.settings import Settings, Workshop
from retrievers.settings.parts import find_source
from retrievers.store.digest import digest, digest_sources
from retrievers.store.shelf import Shelf, sort_places

# What decides how a document is cut; a change to it makes the chunks in the cache void.
SOURCES = (
    "../base/__init__.py", "../base/frontmatter.py", "../base/markdown.py", "../settings/files.py",
    "admonitions.py", "blocks.py", "chunk_kinds.py", "chunkers", "cutting.py", "definitions.py",
    "forms.py", "identifiers.py", "jurisdictions.yaml", "numbered_lines.py", "numerals.py",
    "paragraphs.py", "reference_patterns.py", "reference_units.py", "references.py",
    "sentences.py", "structure.py", "tokens.py",
)  # fmt: skip

NO_TEXT = "the collection has no text to search: every document is empty"


class DocumentSettings(Settings):
    """How documents become chunks."""

    converter: AnyConverter | None = Field(
        None,
        description="what reads the files that documents were made of: markitdown, or a command; "
        "if not given, documents are as their collection has them, and the files of a folder are "
        "read by markitdown",
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
    context: ContextSettings = Field(
        default_factory=ContextSettings, description="what is put before each chunk"
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Chunks in descending order of id, the source of their contexts, and the seconds of cutting.

    Those are of the work itself, also where all of it was `cached`; 0 where nothing is cut.
    `facts` says of the chunks that were cut: `tokens`, pairs of a size and the number of chunks
    that have it; `limit`, the chunker's maximum; `oversize`, how many exceed it; and
    `integrity_failures`, how many documents their chunks do not give back.
    """

    chunks: Sequence[Chunk]
    context_source: Source
    seconds: float
    cached: bool
    facts: Mapping[str, Any]


def prepare(
    documents: Sequence[Document], settings: DocumentSettings, workshop: Workshop
) -> Prepared:
    """Return the chunks of `documents` with their contexts; of those on a shelf a shelf, too.

    Raises AssayError when there is nothing to search, or when two chunks share an id.
    """
    source = settings.context.resolve(documents)
    if isinstance(documents, Shelf) and settings.passages:
        return Prepared(_shelve(documents, settings, source, workshop), source, 0.0, False, {})
    chunks: list[Chunk] = []
    cut = cut_documents(documents, settings, workshop)
    for document in documents:
        own = cut.chunks.get(document.id)
        plain = take_passages(document) if own is None else own
        chunks += _finish(plain, document, settings, source)
    if not chunks:
        raise AssayError(NO_TEXT)
    chunks.sort(key=lambda chunk: chunk.id, reverse=True)
    for one, other in pairwise(chunks):
        if one.id == other.id:
            raise AssayError(f"{one.doc_id} and {other.doc_id}: two chunks share the id {one.id}")
    facts = _describe(chunks, cut, settings.chunker) if cut.chunks else {}
    return Prepared(tuple(chunks), source, cut.work, cut.cached, facts)


def _shelve(
    documents: Shelf[Document], settings: DocumentSettings, source: Source, workshop: Workshop
) -> Shelf[Chunk]:
    """Return the passages of `documents` that hold text, in descending order of id."""

    def make(document: Document) -> list[Chunk]:
        return _finish(take_passages(document), document, settings, source)

    names, places = [], array("i")
    tracked = workshop.progress.track(documents, "reading passages", len(documents))
    for place, document in enumerate(tracked):
        if make(document):
            names.append(document.id)
            places.append(place)
    if not names:
        raise AssayError(NO_TEXT)
    order = array("i", (places[at] for at in sort_places(names)))
    return Shelf(documents.hashes[order], lambda at: make(documents[order[at]])[0])


def _finish(
    plain: Sequence[Chunk], document: Document, settings: DocumentSettings, source: Source
) -> list[Chunk]:
    """Return those of a document's chunks that are searched, with what is put before each."""
    searched = [chunk for chunk in plain if _is_searched(chunk, settings)]
    if not searched and read_frontmatter(document.text).text:
        searched = [chunk for chunk in plain if chunk.kind == "frontmatter"]
    contextual = contextualise(searched, document, source, settings.context.opening_words)
    return _preface(contextual, document, settings, source)


def _is_searched(chunk: Chunk, settings: DocumentSettings) -> bool:
    """Say whether a chunk holds text to find; the others only make the document whole."""
    hidden = chunk.kind == "frontmatter" and settings.frontmatter != "chunk"
    return bool(f"{chunk.title}{chunk.text}".strip()) and not hidden


def _preface(
    chunks: Sequence[Chunk], document: Document, settings: DocumentSettings, source: Source
) -> list[Chunk]:
    """Return `chunks` with what the settings put before the context of each."""
    about = read_frontmatter(document.text).text if settings.frontmatter == "text" else ""
    headings = settings.headings and source != "headings"
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


@dataclass(frozen=True, slots=True)
class Cut:
    """All chunks of each document by its id, and the tokens of each chunk by its own.

    `torn` names the documents that their chunks do not give back, `seconds` what those took that
    were not known before, `work` what all took when they were cut.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    tokens: Mapping[str, int]
    torn: Sequence[str]
    seconds: Mapping[str, float]
    work: float

    @property
    def cached(self) -> bool:
        """Whether there is something cut, and all of it was known."""
        return bool(self.chunks) and not self.seconds


def cut_documents(
    documents: Sequence[Document], settings: DocumentSettings, workshop: Workshop
) -> Cut:
    """Cut the documents that the collection prescribes no passages for."""
    from retrievers.models.tokens import Tokenizer

    documents = [item for item in documents if not (settings.passages and item.passages)]
    if not documents:
        return Cut({}, {}, (), {}, 0.0)
    tokenizer = Tokenizer(settings.tokenizer, workshop)
    chunker = settings.chunker
    here = Path(__file__).parent
    own = digest_sources(*(here / name for name in SOURCES))
    sources = own + find_source(chunker)
    keys = {
        item.id: digest("timed cut", sources, tokenizer.identity, chunker, item.id, item.text)
        for item in documents
    }
    known = workshop.cache.get_many("chunks", keys.values())
    missing = [item for item in documents if keys[item.id] not in known]
    fresh, seconds, at_blanks = {}, {}, tokenizer.splits_at_blanks
    for document in workshop.progress.track(missing, "chunking", len(missing)):
        begin = time.perf_counter()
        tokenize: Tokenize = cache(tokenizer.offsets)  # chunkers read pieces more than once
        if at_blanks:
            tokenize = AtBlanks(tokenize)
        made = chunker.chunk(document, tokenize)
        token_map = TokenMap(document.text, tokenize)
        value: dict[str, Any] = {
            "rows": [{**asdict(chunk), "text": ""} for chunk in made],
            "tokens": [token_map.count(chunk.start, chunk.end) for chunk in made],
            "intact": is_intact(document, made),
        }
        value["seconds"] = seconds[document.id] = time.perf_counter() - begin
        fresh[keys[document.id]] = json.dumps(value, ensure_ascii=False).encode()
    if fresh:
        workshop.cache.put_many("chunks", fresh)
    known |= fresh
    values = {item.id: json.loads(known[keys[item.id]]) for item in documents}
    chunks = {item.id: _read_chunks(values[item.id]["rows"], item) for item in documents}
    tokens = {
        chunk.id: size
        for name, made in chunks.items()
        for chunk, size in zip(made, values[name]["tokens"], strict=True)
    }
    torn = [name for name, value in values.items() if not value["intact"]]
    work = fsum(value["seconds"] for value in values.values())
    return Cut(chunks, tokens, torn, seconds, work)


def _describe(chunks: Sequence[Chunk], cut: Cut, chunker: Chunker) -> dict[str, Any]:
    sizes = Counter(cut.tokens[chunk.id] for chunk in chunks if chunk.doc_id in cut.chunks)
    limit = chunker.limit
    return {
        "limit": limit,
        "tokens": [[size, number] for size, number in sorted(sizes.items())],
        "oversize": sum(number for size, number in sizes.items() if limit and size > limit),
        "integrity_failures": len(cut.torn),
    }


def _read_chunks(rows: Sequence[Mapping[str, Any]], document: Document) -> list[Chunk]:
    chunks = []
    for row in rows:
        fields: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item for key, item in row.items()
        }
        fields["text"] = document.text[row["start"] : row["end"]]
        chunks.append(Chunk(**fields))
    return chunks
