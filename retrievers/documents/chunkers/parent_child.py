"""Two levels: small chunks are searched, and have the span of the larger passage around them."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.documents.chunkers.base import Chunker, Piece, gather_bare, span_of
from assay.retrievers.documents.splitting import Splitter
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap


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
