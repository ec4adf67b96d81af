"""The base class of chunkers, and the making of chunks from the spans they choose."""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile

from pydantic import Field, model_validator

from assay.retrievers.base import Chunk, Document
from assay.retrievers.documents.chunk_kinds import Classifier
from assay.retrievers.documents.splitting import Splitter
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.structure import Structure, parse_document
from assay.retrievers.documents.tokens import Tokenize, TokenMap
from assay.retrievers.settings import Settings
from assay.retrievers.store.digest import digest

ID_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that a chunker chose; `parent` is the span of the larger passage it is part of."""

    start: int
    end: int
    parent: tuple[int, int] | None = None


class Chunker(Settings, ABC):
    """A chunker chooses the spans of a document that are searched.

    Its pieces are in order and, overlaps apart, make up the document without its frontmatter, as
    `rebuild` verifies. `conformance.RULES` has the other rules.
    """

    type: str = "python"

    @property
    def limit(self) -> int | None:
        """The most tokens a chunk may have, if there is such a bound."""
        return None

    @property
    def target(self) -> int | None:
        """The most tokens of a chunk of text without headings, if code, tables, quotes and
        admonitions allow it.
        """
        return self.limit

    @property
    def overlap(self) -> int:
        """The most tokens a chunk may repeat of the one before."""
        return 0

    @property
    def keeps_blocks(self) -> bool:
        """True if code, tables, quotes and admonitions within the limit are never cut."""
        return True

    @abstractmethod
    def split(self, structure: Structure, tokens: TokenMap) -> Iterable[Piece]:
        """Yield the pieces of a document in order. There is text after the frontmatter."""

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the span within which an edit at `offset` may change chunks.

        That is its section, and if that is but a heading, also the section that it opens.
        """
        section = structure.section_at(offset)
        group = next(group for group in gather_bare(structure) if section in group)
        return section.start, group[-1].end

    def chunk(self, document: Document, tokenize: Tokenize) -> list[Chunk]:
        """Return the chunks of `document` in order; its frontmatter, if any, is the first."""
        structure = parse_document(document)
        tokens = TokenMap(document.text, tokenize)
        begin = structure.frontmatter.end
        front = Splitter(structure, tokens, self.limit or tokens.count(0, begin), words_only=True)
        pieces = [Piece(*span) for span in front.cut(0, begin)]
        if structure.sections:
            pieces += self.split(structure, tokens)
        return list(_make_chunks(document, structure, pieces))


class SizedChunker(Chunker):
    """A chunker with a maximum size; a chunk may repeat up to half of it from the one before."""

    max_tokens: int = Field(ge=16, description="largest chunk, in tokens")
    overlap_tokens: int = Field(
        0, ge=0, description="tokens a chunk repeats of the one before, within a section"
    )

    @model_validator(mode="after")
    def _fits(self) -> "SizedChunker":
        if 2 * self.overlap_tokens > self.max_tokens:
            raise ValueError("overlap_tokens: at most half of max_tokens")
        return self

    @property
    def limit(self) -> int | None:
        """The most tokens of a chunk, as set."""
        return self.max_tokens

    @property
    def overlap(self) -> int:
        """The overlap in tokens, as set."""
        return self.overlap_tokens


def rebuild(chunks: Sequence[Chunk]) -> str:
    """Return the text of a document from all its chunks, in order, without their overlaps.

    Nothing is filled in: the text of a missing chunk is missing.
    """
    parts = []
    end = 0
    for chunk in chunks:
        if chunk.end > end:
            parts.append(chunk.text[max(end - chunk.start, 0) :])
            end = chunk.end
    return "".join(parts)


def is_intact(document: Document, chunks: Sequence[Chunk]) -> bool:
    """Return True if the SHA-256 of the document rebuilt from its chunks is the document's own."""
    return _sha256(rebuild(chunks)) == _sha256(document.text)


def gather_bare(
    structure: Structure, breaks: Callable[[Section], bool] = lambda _: False
) -> Iterator[list[Section]]:
    """Yield the sections, each heading without a body together with the section after it.

    If that section `breaks` with what is before it, the heading joins it only from above.
    """
    gathered: list[Section] = []
    for section in structure.sections:
        if gathered and breaks(section) and gathered[-1].level >= section.level:
            yield gathered
            gathered = []
        gathered.append(section)
        if structure.text[section.body : section.end].strip():
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def span_of(sections: Sequence[Section]) -> tuple[int, int]:
    """Return the beginning and end of `sections`, which are in order."""
    return sections[0].start, sections[-1].end


def _make_chunks(
    document: Document, structure: Structure, pieces: Iterable[Piece]
) -> Iterator[Chunk]:
    classifier = Classifier(structure)
    anchors = sorted(
        (item.start, item.id)
        for items in (structure.sections, structure.paragraphs)
        for item in items
        if item.id
    )
    seen: Counter[str] = Counter()
    for piece in pieces:
        text = document.text[piece.start : piece.end]
        seen[text] += 1
        chunk = Chunk(
            id=make_id(document.id, text, seen[text]),
            doc_id=document.id,
            start=piece.start,
            end=piece.end,
            text=text,
            parent=piece.parent,
        )
        if piece.end <= structure.frontmatter.end:
            yield replace(chunk, kind="frontmatter")
            continue
        section, headings = _place(structure, piece)
        first, last = bisect_left(anchors, (piece.start,)), bisect_left(anchors, (piece.end,))
        yield replace(
            chunk,
            kind=classifier.kind(piece.start, piece.end),
            section_id=section.id,
            level=section.level,
            headings=headings,
            anchors=tuple(id_ for _, id_ in anchors[first:last]),
        )


def make_id(doc_id: str, text: str, occurrence: int) -> str:
    """Return the id of a chunk: SHA-256, 24 hex digits, of its document, its text in the order of
    the document, and the number of chunks up to and including it with that text.

    The id is independent of the chunk's place, so that an edit elsewhere does not change it.
    """
    return digest(doc_id, text, occurrence)[:ID_DIGITS]


def _place(structure: Structure, piece: Piece) -> tuple[Section, tuple[str, ...]]:
    """Return the first section with a body, and the headings above all such sections."""
    sections = structure.sections_within(piece.start, piece.end)
    full = [
        section
        for section in sections
        if structure.text[max(piece.start, section.body) : min(piece.end, section.end)].strip()
    ] or sections[-1:]
    levels = zip(*(section.headings for section in full), strict=False)
    shared = tuple(titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels))
    return full[0], shared or full[0].headings


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
