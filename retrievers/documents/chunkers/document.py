"""Whole documents."""

from collections.abc import Iterator
from typing import Literal

from assay.retrievers.documents.chunkers.base import Chunker, Piece
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap


class DocumentChunker(Chunker):
    """The whole document, without its frontmatter, as one chunk."""

    type: Literal["document"]

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the document."""
        return structure.frontmatter.end, len(structure.text)

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the one piece."""
        yield Piece(structure.frontmatter.end, len(structure.text))
