"""Chunkers of one rule each: sections, windows, two levels, whole documents."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.documents.chunkers.base import (
    Chunker,
    Piece,
    SizedChunker,
    gather_bare,
    span_of,
)
from assay.retrievers.documents.splitting import Splitter
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap


class SectionwiseChunker(SizedChunker):
    """The base class of chunkers whose chunks stay within a section."""

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield sections, and the pieces of those over the limit."""
        cutter = Splitter(structure, tokens, self.max_tokens, self.overlap_tokens)
        for sections in gather_bare(structure):
            for span in cutter.cut(*span_of(sections)):
                yield Piece(*span)


class StructureChunker(SectionwiseChunker):
    """Sections; those over the limit are cut between blocks or sentences, with an overlap."""

    type: Literal["structure"] = "structure"
    max_tokens: int = Field(800, ge=16, description="largest chunk, in tokens")
    overlap_tokens: int = Field(
        50, ge=0, description="tokens a chunk repeats of the one before, within a section"
    )


class SectionChunker(SectionwiseChunker):
    """One chunk a section; sections over the limit are cut between blocks or sentences."""

    type: Literal["sections"] = "sections"
    max_tokens: int = Field(400, ge=16, description="largest chunk, in tokens")
    overlap_tokens: Literal[0] = 0


class FixedChunker(SizedChunker):
    """Windows of as many tokens as fit, cut between words, whatever stands there."""

    type: Literal["fixed"]
    max_tokens: int = Field(800, ge=16, description="largest chunk, in tokens")
    overlap_tokens: int = Field(50, ge=0, description="tokens a window repeats of the one before")
    restart: Literal["section", "document"] = Field(
        "section",
        description="where windows begin anew: with each section, so that an edit stays local, "
        "or only with the document, so that windows cross headings",
    )

    @property
    def keeps_blocks(self) -> bool:
        """False: they are cut like any other text."""
        return False

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the section, or the document where windows cross headings."""
        if self.restart == "section":
            return super().scope(structure, offset)
        return structure.frontmatter.end, len(structure.text)

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the windows."""
        cutter = Splitter(structure, tokens, self.max_tokens, self.overlap_tokens, words_only=True)
        stretches = [(structure.frontmatter.end, len(structure.text))]
        if self.restart == "section":
            stretches = [span_of(sections) for sections in gather_bare(structure)]
        for stretch in stretches:
            for span in cutter.cut(*stretch):
                yield Piece(*span)


class ParentChildChunker(Chunker):
    """Small chunks, which are searched, each with the span of the parent it was cut from."""

    type: Literal["parent_child"]
    parent_tokens: int = Field(500, ge=16, description="largest parent, in tokens")
    parent_overlap_tokens: int = Field(
        50, ge=0, description="tokens a parent repeats of the one before"
    )
    max_tokens: int = Field(150, ge=16, description="largest child, in tokens")
    overlap_tokens: int = Field(25, ge=0, description="tokens a child repeats of the one before")

    @model_validator(mode="after")
    def _fits(self) -> "ParentChildChunker":
        if self.max_tokens > self.parent_tokens:
            raise ValueError("max_tokens: a child cannot be larger than its parent_tokens")
        if 2 * self.overlap_tokens > self.max_tokens:
            raise ValueError("overlap_tokens: at most half of max_tokens")
        if 2 * self.parent_overlap_tokens > self.parent_tokens:
            raise ValueError("parent_overlap_tokens: at most half of parent_tokens")
        return self

    @property
    def limit(self) -> int | None:
        """The most tokens of a child."""
        return self.max_tokens

    @property
    def overlap(self) -> int:
        """The overlap of children, in tokens."""
        return self.overlap_tokens

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the children. Each belongs to one parent, which may begin before it."""
        parents = Splitter(structure, tokens, self.parent_tokens, self.parent_overlap_tokens)
        children = Splitter(structure, tokens, self.max_tokens, self.overlap_tokens)
        for sections in gather_bare(structure):
            begin, end = span_of(sections)
            for parent in parents.cut(begin, end):
                for span in children.cut(begin, parent[1]):
                    yield Piece(*span, parent)
                begin = parent[1]


class DocumentChunker(Chunker):
    """The whole document, without its frontmatter, as one chunk."""

    type: Literal["document"]

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the document."""
        return structure.frontmatter.end, len(structure.text)

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the one piece."""
        yield Piece(structure.frontmatter.end, len(structure.text))
