"""The neighborhoods of a corpus's chunks, from its documents."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from assay.retrievers.base import Chunk, Document, Hit
from assay.retrievers.base.chunk_neighborhood import ChunkNeighborhood, Pointer, WrittenReference
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.language import find_language
from assay.retrievers.documents.references.references import Reference, find_references
from assay.retrievers.documents.references.targets import Laws
from assay.retrievers.documents.structure.structure import Structure, parse_document
from assay.retrievers.documents.summary import summarise
from assay.retrievers.legs.graph import load_edges
from assay.retrievers.settings import Resources
from assay.retrievers.stages.scores import find_date
from assay.retrievers.store.chunk_store import ChunkStore


class NeighborhoodReader:
    """Reads the neighborhoods of hits; references are read at the first hit, or from the cache.

    Without `references` no references are read.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        documents: Sequence[Document],
        resources: Resources,
        references: bool = True,
    ) -> None:
        self._references = references
        self._corpus = Corpus(
            chunks
            if isinstance(chunks, ChunkStore)
            else sorted(chunks, key=lambda chunk: chunk.id, reverse=True),
            documents,
        )
        self._resources = resources
        self._parsed: dict[str, tuple[Structure, Sequence[Reference]]] = {}

    def read(self, hit: Hit) -> ChunkNeighborhood | None:
        """Return the neighborhood of a hit; None if its chunk is not in the corpus."""
        chunk = hit.chunk
        if chunk.id not in self._corpus.positions or chunk.doc_id not in self._corpus.documents:
            return None
        position = self._corpus.positions[chunk.id]
        document = self._corpus.documents[chunk.doc_id]
        own = self._corpus.by_document[chunk.doc_id]
        structure, references = self._parse(chunk.doc_id)
        held = [
            section
            for section in structure.sections_within(chunk.start, chunk.end)
            if structure.text[max(section.body, chunk.start) : min(section.end, chunk.end)].strip()
        ]
        ends = [
            structure.text[begin:end].strip()
            for section in held
            for begin, end in ((section.body, chunk.start), (chunk.end, section.end))
        ]
        under = next(iter(held or structure.sections_within(chunk.start, chunk.end)), None)
        above = structure.sections_above(under) if under else ()
        outgoing, incoming = self._find_links(position)
        return ChunkNeighborhood(
            order=own.index(position) + 1,
            total=len(own),
            level=under.level if under else 0,
            parents=tuple(section.id for section in above),
            sections=tuple(dict.fromkeys(section.id for section in held if section.id)),
            combined=len(held) > 1,
            split=any(ends),
            references=tuple(
                _write(found, structure.text, self._laws)
                for found in references
                if chunk.start <= found.start < chunk.end
            ),
            outgoing=outgoing,
            incoming=incoming,
            defined_in=tuple(
                self._parse(item.doc_id)[0].section_at(item.start).id for item in hit.definitions
            ),
            language=structure.frontmatter.language
            or find_language(structure.text, self._resources.cache),
            summary=summarise(structure),
            title=document.title,
            source=_cite(document),
            page=bisect(document.pages, chunk.start) or None,
            updated_at=_date(document, structure.frontmatter),
        )

    def _find_links(
        self, position: int
    ) -> tuple[tuple[Pointer, ...] | None, tuple[Pointer, ...] | None]:
        """Return the outgoing and incoming pointers of a chunk; see `ChunkNeighborhood`."""
        if isinstance(self._corpus.chunks, ChunkStore) or not self._references:
            return None, None
        outgoing, incoming = self._edges
        return tuple(outgoing[position]), tuple(incoming[position])

    def _parse(self, doc_id: str) -> tuple[Structure, Sequence[Reference]]:
        if doc_id not in self._parsed:
            structure = parse_document(self._corpus.documents[doc_id])
            found = find_references(structure) if self._references else ()
            self._parsed[doc_id] = structure, found
        return self._parsed[doc_id]

    @cached_property
    def _laws(self) -> Laws:
        return Laws((document.id, document.title) for document in self._corpus.documents.values())

    @cached_property
    def _edges(self) -> tuple[Mapping[int, list[Pointer]], Mapping[int, list[Pointer]]]:
        """The outgoing and incoming pointers of each chunk, by position, in order of the text."""
        outgoing: dict[int, list[Pointer]] = defaultdict(list)
        incoming: dict[int, list[Pointer]] = defaultdict(list)
        chunks = self._corpus.chunks
        _, edges = load_edges(self._corpus, self._resources)
        for source, target, kind in edges:
            outgoing[source].append(_point(kind, chunks[target]))
            incoming[target].append(_point(kind, chunks[source]))
        starts = {chunk.id: (chunk.doc_id, chunk.start) for chunk in chunks}
        for pointers in (*outgoing.values(), *incoming.values()):
            pointers.sort(key=lambda pointer: (*starts[pointer.chunk_id], pointer.kind))
        return outgoing, incoming


def _point(kind: str, chunk: Chunk) -> Pointer:
    return Pointer(kind, chunk.id, chunk.doc_id, chunk.section_id)


def _write(reference: Reference, text: str, laws: Laws) -> WrittenReference:
    written = " ".join(text[reference.start : reference.end].split())
    targets = tuple(one.target for one in reference.spread())
    return WrittenReference(written, targets, reference.external and not laws.find(reference.law))


def _cite(document: Document) -> str:
    """Return a document's id, or that of the file it was converted from."""
    original = document.id.removesuffix(".md")
    return original if Path(document.origin).name == Path(original).name else document.id


def _date(document: Document, frontmatter: Frontmatter) -> str:
    if stated := find_date(frontmatter):
        return stated.isoformat()
    try:
        changed = Path(document.origin).stat().st_mtime if document.origin else None
    except OSError:
        return ""
    return "" if changed is None else datetime.fromtimestamp(changed, UTC).date().isoformat()
