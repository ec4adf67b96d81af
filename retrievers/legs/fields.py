"""The fields of a chunk: its body, and what stands above and about it."""

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field

from assay.retrievers.base import Chunk
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.summary import summarise
from assay.retrievers.settings import Settings

FieldName = Literal[
    "title", "headings", "keywords", "description", "tags", "aliases", "author", "category",
    "summary", "body",
]  # fmt: skip


class FieldWeights(Settings):
    """How much an occurrence counts in each field; 0 leaves the field out."""

    title: float = Field(3.0, ge=0, description="the chunk's own title, else its document's")
    headings: float = Field(2.5, ge=0, description="the path of headings above the chunk")
    keywords: float = Field(2.5, ge=0, description="the frontmatter's keywords")
    description: float = Field(2.0, ge=0, description="the frontmatter's description")
    tags: float = Field(2.0, ge=0, description="the frontmatter's tags")
    aliases: float = Field(1.5, ge=0, description="the frontmatter's aliases")
    author: float = Field(1.0, ge=0, description="the frontmatter's author")
    category: float = Field(1.0, ge=0, description="the frontmatter's category")
    summary: float = Field(
        0.0, ge=0, description="the frontmatter's description, else the document's first paragraph"
    )
    body: float = Field(1.0, ge=0, description="the chunk's text with its context")

    def list_used(self) -> dict[FieldName, float]:
        """Return the weights above 0, by field."""
        weights = self.model_dump()
        return {name: weights[name] for name in get_args(FieldName) if weights[name]}


def read_fields(corpus: Corpus, weights: FieldWeights) -> list[dict[FieldName, str]]:
    """Return the text of each field of each chunk; what is blank is empty.

    What a document says of itself counts for each of its chunks.
    """
    structures = corpus.structures if weights.summary else {}
    summaries = {id_: summarise(structure) for id_, structure in structures.items()}
    return [_read_fields(chunk, corpus, summaries) for chunk in corpus.chunks]


def _read_fields(
    chunk: Chunk, corpus: Corpus, summaries: Mapping[str, str]
) -> dict[FieldName, str]:
    about = corpus.frontmatter.get(chunk.doc_id, Frontmatter())
    document = corpus.documents.get(chunk.doc_id)
    title = chunk.title or about.title or (document.title if document else "")
    fields: dict[FieldName, str] = {
        "title": title,
        "headings": "\n".join(chunk.headings),
        "keywords": "\n".join(about.keywords),
        "description": about.description,
        "tags": "\n".join(about.tags),
        "aliases": "\n".join(about.aliases),
        "author": about.author,
        "category": about.category,
        "summary": summaries.get(chunk.doc_id, ""),
        "body": f"{chunk.context}\n\n{chunk.text}",
    }
    return {name: text if text.strip() else "" for name, text in fields.items()}
