"""Chunkers: a document becomes the passages that are searched."""

from typing import Annotated

from pydantic import Field

from assay.retrievers.base import Chunk, Document
from assay.retrievers.documents.chunkers.base import Chunker, is_intact, rebuild
from assay.retrievers.documents.chunkers.combine_split import CombineSplitChunker
from assay.retrievers.documents.chunkers.document import DocumentChunker
from assay.retrievers.documents.chunkers.fixed import FixedChunker
from assay.retrievers.documents.chunkers.parent_child import ParentChildChunker
from assay.retrievers.documents.chunkers.structure import SectionChunker, StructureChunker
from assay.retrievers.settings.parts import Part

_Own = Annotated[
    StructureChunker
    | SectionChunker
    | FixedChunker
    | CombineSplitChunker
    | ParentChildChunker
    | DocumentChunker,
    Field(discriminator="type"),
]
AnyChunker = Annotated[Chunker, Part("assay.chunkers", Chunker, _Own)]

__all__ = [
    "AnyChunker",
    "Chunker",
    "CombineSplitChunker",
    "DocumentChunker",
    "FixedChunker",
    "ParentChildChunker",
    "SectionChunker",
    "StructureChunker",
    "is_intact",
    "rebuild",
    "take_passages",
]


def take_passages(document: Document) -> list[Chunk]:
    """Return the passages the collection prescribes for `document` as chunks."""
    return [
        Chunk(
            id=passage.id,
            doc_id=document.id,
            start=passage.start,
            end=passage.end,
            text=document.text[passage.start : passage.end],
            title=passage.title,
        )
        for passage in document.passages
    ]
