"""From documents to the chunks a pipeline indexes."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import Field

from retrievers.base import AssayError, Chunk, Document
from retrievers.documents.chunkers import ChunkerSettings, SectionChunkerSettings, take_passages
from retrievers.documents.contexts import ContextSettings, Source, contextualise
from retrievers.settings import Settings, Workshop
from retrievers.store.digest import digest, digest_sources


class DocumentSettings(Settings):
    """How documents become chunks."""

    passages: bool = Field(
        True, description="search the passages the collection prescribes, where it does"
    )
    chunker: ChunkerSettings = Field(
        default_factory=SectionChunkerSettings,
        discriminator="type",
        description="how documents without prescribed passages are cut",
    )
    context: ContextSettings = Field(
        default_factory=ContextSettings, description="what is put before each chunk"
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Chunks in descending order of id, the source of their contexts, and what it took."""

    chunks: tuple[Chunk, ...]
    context_source: Source
    seconds: float
    cached: bool


def prepare(
    documents: Sequence[Document], settings: DocumentSettings, workshop: Workshop
) -> Prepared:
    """Return the chunks of `documents` with their contexts.

    Raises AssayError when there is nothing to search, or when two chunks share an id.
    """
    begin = time.perf_counter()
    source = settings.context.resolve(documents)
    chunks: list[Chunk] = []
    cut = [item for item in documents if not (settings.passages and item.passages)]
    chunked = _chunk_all(cut, settings.chunker, workshop)
    for document in documents:
        own = chunked.chunks.get(document.id)
        plain = take_passages(document) if own is None else own
        chunks += contextualise(plain, document, source, settings.context.opening_words)
    chunks = [chunk for chunk in chunks if chunk.searchable.strip()]
    if not chunks:
        raise AssayError("the collection has no text to search: every document is empty")
    chunks.sort(key=lambda chunk: chunk.id, reverse=True)
    for one, other in zip(chunks, chunks[1:], strict=False):
        if one.id == other.id:
            raise AssayError(f"{one.doc_id} and {other.doc_id}: two chunks share the id {one.id}")
    seconds = time.perf_counter() - begin
    return Prepared(tuple(chunks), source, seconds, cached=not chunked.fresh)


@dataclass(frozen=True, slots=True)
class _Chunked:
    chunks: dict[str, list[Chunk]]
    fresh: int


def _chunk_all(
    documents: Sequence[Document], settings: ChunkerSettings, workshop: Workshop
) -> _Chunked:
    """Return the chunks of each document by its id, from the cache where they are known."""
    from retrievers.models.tokens import Tokenizer

    here = Path(__file__).parent
    sources = digest_sources(*(here / f"{name}.py" for name in ("chunkers", "sections")))
    keys = {item.id: digest("chunks", sources, settings, item.id, item.text) for item in documents}
    known = workshop.cache.get_many("chunks", keys.values())
    missing = [item for item in documents if keys[item.id] not in known]
    tokenizer = Tokenizer.default(workshop) if missing else None
    fresh = {}
    for document in workshop.progress.track(missing, "chunking", len(missing)):
        assert tokenizer is not None
        made = settings.chunk(document, tokenizer.count)
        fresh[keys[document.id]] = json.dumps(
            [{key: value for key, value in asdict(chunk).items() if key != "text"} for chunk in made]
        ).encode()
    if fresh:
        workshop.cache.put_many("chunks", fresh)
    known |= fresh
    return _Chunked(
        {item.id: _read_chunks(known[keys[item.id]], item) for item in documents}, len(fresh)
    )


def _read_chunks(value: bytes, document: Document) -> list[Chunk]:
    rows = json.loads(value)
    return [
        Chunk(
            **(row | {"headings": tuple(row["headings"])}),
            text=document.text[row["start"] : row["end"]],
        )
        for row in rows
    ]
