"""A chunker of your own, which makes a chunk of each paragraph of a section."""

import re
from collections.abc import Iterator

from pydantic import Field

from assay.retrievers.documents.chunkers.base import Chunker, Piece, gather_bare, span_of
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap

PARAGRAPH = re.compile(r".+?(?:\n\s*\n|\Z)", re.DOTALL)


class ParagraphChunker(Chunker):
    """Paragraphs, a heading with the first below it."""

    least: int = Field(40, ge=1, description="characters below which the next one joins")

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        for begin, end in map(span_of, gather_bare(structure)):
            for match in PARAGRAPH.finditer(structure.text, begin, end):
                if match.end() - begin >= self.least or match.end() == end:
                    yield Piece(begin, match.end())
                    begin = match.end()
