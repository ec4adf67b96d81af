"""Windows of a fixed number of tokens."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from assay.retrievers.documents.chunkers.base import Piece, SizedChunker, gather_bare, span_of
from assay.retrievers.documents.splitting import Splitter
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap


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
