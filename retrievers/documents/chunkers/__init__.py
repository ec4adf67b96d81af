"""Chunkers: a document becomes the passages that are searched."""

from typing import Annotated

from assay.retrievers.base import Chunk, Document
from assay.retrievers.documents.chunkers.base import Chunker, is_intact, rebuild
from assay.retrievers.documents.chunkers.simple import StructureChunker
from assay.retrievers.settings.parts import Part

CHUNKERS = Part(
    "assay.chunkers",
    Chunker,
    __package__,
    {
        "structure": "simple:StructureChunker",
        "sections": "simple:SectionChunker",
        "fixed": "simple:FixedChunker",
        "combine_split": "combine_split:CombineSplitChunker",
        "parent_child": "simple:ParentChildChunker",
        "document": "simple:DocumentChunker",
    },
)
AnyChunker = Annotated[Chunker, CHUNKERS]

__all__ = [
    "AnyChunker",
    "Chunker",
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
