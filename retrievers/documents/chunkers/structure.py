"""Chunks that follow the sections: whole where they fit, else cut at the best places."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from assay.retrievers.documents.chunkers.base import Piece, SizedChunker, gather_bare, span_of
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
