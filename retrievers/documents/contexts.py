"""Contexts: a line or two that situate a chunk, put before it in every index."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from pydantic import Field

from assay.retrievers.base import AssayError, Chunk, Context, Document
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.settings import Settings

Source = Literal["none", "collection", "headings", "opening", "opening+headings", "auto"]
SOURCES = {
    "none": "chunks as they are",
    "collection": "contexts.jsonl, shipped with the collection",
    "headings": "the document's title and the headings above the chunk",
    "opening": "the document's first words, before every chunk but one that is all of it",
    "opening+headings": "both, the opening first",
    "auto": "collection where it ships contexts; else headings, and opening+headings for a "
    "document whose headings are the same above all of its chunks, or that has none",
}


class ContextSettings(Settings):
    r"""The text before each chunk, as `{context}\n\n{chunk}`, in every index."""

    source: Source = Field(
        "none", description="; ".join(f"{name}: {text}" for name, text in SOURCES.items())
    )
    opening_words: int = Field(50, ge=1, description="length of the context `opening`")

    def resolve(self, documents: Sequence[Document]) -> Source:
        """Return the source that `documents` allow.

        Raises AssayError when `collection` is asked for and no document has a context.
        """
        source = self.source
        if source not in ("auto", "collection"):
            return source
        shipped = any(document.contexts for document in documents)
        if source == "auto":
            return "collection" if shipped else "auto"
        if not shipped:
            raise AssayError(
                "documents.context.source: the collection ships no contexts.jsonl; "
                f"allowed without one: {', '.join(name for name in SOURCES if name != source)}"
            )
        return source


def contextualise(
    chunks: Sequence[Chunk], document: Document, source: Source, opening_words: int
) -> list[Chunk]:
    """Return the `chunks` of `document`, each with its context from `source`."""
    if source == "none":
        return list(chunks)
    if source == "collection":
        return [replace(chunk, context=_shipped(chunk, document.contexts)) for chunk in chunks]
    # Headings that are above all chunks of a document distinguish none of them.
    headed = source == "auto" and len({chunk.headings for chunk in chunks}) > 1
    if source == "headings" or headed:
        return [replace(chunk, context=_headings(chunk, document)) for chunk in chunks]
    # The chunks that contain the opening get it too: with its words once where all others have
    # them twice they would be found last for what they say first.
    opening = _opening(document, opening_words) if len(chunks) > 1 else ""
    if source == "opening":
        return [replace(chunk, context=opening) for chunk in chunks]
    return [
        replace(chunk, context="\n".join(filter(None, (opening, _headings(chunk, document)))))
        for chunk in chunks
    ]


def _shipped(chunk: Chunk, contexts: Sequence[Context]) -> str:
    """Return the context whose span shares most with the chunk; the first of equal ones."""
    shared = [min(chunk.end, item.end) - max(chunk.start, item.start) for item in contexts]
    most = max(shared, default=0)
    return contexts[shared.index(most)].text if most > 0 else ""


def _headings(chunk: Chunk, document: Document) -> str:
    path = dict.fromkeys((document.title, *chunk.headings))
    # A prescribed passage may have the document's title itself.
    return " > ".join(part for part in path if part and part != chunk.title)


def _opening(document: Document, words: int) -> str:
    text = document.text[frontmatter_end(document.text) :]
    return " ".join(match.group() for match in islice(re.finditer(r"\S+", text), words))
