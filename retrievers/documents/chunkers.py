"""Chunkers: a document becomes the passages that are searched."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import Field

from retrievers.base import Chunk, Document
from retrievers.documents.sections import Section, split_sections
from retrievers.settings import Settings
from retrievers.store.digest import digest

ID_DIGITS = 24
# Where an overlong text is cut, in order of preference.
BREAKS = (
    re.compile(r"\n[ \t]*\n\s*"),  # between paragraphs
    re.compile(r"\n+"),  # between lines
    re.compile(r"(?<=[.!?;:])\s+"),  # between sentences
    re.compile(r"\s+"),  # between words
)

CountTokens = Callable[[str], int]


class SectionChunkerSettings(Settings):
    """One chunk a section; sections over the limit are cut between paragraphs or sentences."""

    type: Literal["sections"] = "sections"
    max_tokens: int = Field(
        400, ge=16, description="largest chunk, in tokens of bge-small-en-v1.5's tokenizer"
    )

    def chunk(self, document: Document, count: CountTokens) -> list[Chunk]:
        """Return the chunks of `document` in order.

        They cover the document without its frontmatter. A section without a body (a heading
        directly above another) opens the chunk of the section that follows.
        """
        chunks = []
        pending: int | None = None
        sections = split_sections(document.text)
        for number, section in enumerate(sections):
            bare = not document.text[section.body : section.end].strip()
            if bare and number + 1 < len(sections):
                pending = section.start if pending is None else pending
                continue
            start = section.start if pending is None else pending
            pending = None
            for begin, end in self._cut(document.text, start, section.end, count):
                chunks.append(_make_chunk(document, section, begin, end))
        return chunks

    def _cut(self, text: str, start: int, end: int, count: CountTokens) -> Iterator[tuple[int, int]]:
        """Yield spans of at most `max_tokens` that together are `start` to `end`."""
        begin = start
        while begin < end:
            stop = self._stop(text, begin, end, count)
            yield begin, stop
            begin = stop

    def _stop(self, text: str, begin: int, end: int, count: CountTokens) -> int:
        """Return the furthest good place to end a chunk that starts at `begin`."""
        if count(text[begin:end]) <= self.max_tokens:
            return end
        for pattern in BREAKS:
            places = [match.end() for match in pattern.finditer(text, begin, end)]
            fitting = _last_fitting(text, begin, places, count, self.max_tokens)
            if fitting is not None:
                return fitting
        # One word over the limit, such as a data URI: cut inside it.
        places = list(range(begin + 1, end))
        return _last_fitting(text, begin, places, count, self.max_tokens) or begin + 1


class DocumentChunkerSettings(Settings):
    """The whole document, without its frontmatter, as one chunk."""

    type: Literal["document"]

    def chunk(self, document: Document, count: CountTokens) -> list[Chunk]:
        """Return the one chunk of `document`, or none when it has no text."""
        sections = split_sections(document.text)
        if not sections or not document.text[sections[0].start :].strip():
            return []
        first = Section(sections[0].start, sections[0].start, len(document.text), ())
        return [_make_chunk(document, first, first.start, first.end)]


ChunkerSettings = SectionChunkerSettings | DocumentChunkerSettings


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


def _make_chunk(document: Document, section: Section, start: int, end: int) -> Chunk:
    text = document.text[start:end]
    return Chunk(
        id=digest(document.id, start, text)[:ID_DIGITS],
        doc_id=document.id,
        start=start,
        end=end,
        text=text,
        headings=section.headings,
    )


def _last_fitting(
    text: str, begin: int, places: list[int], count: CountTokens, limit: int
) -> int | None:
    """Return the last of `places` up to which `text` from `begin` has at most `limit` tokens."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if count(text[begin : places[middle]]) <= limit:
            low = middle + 1
        else:
            high = middle
    return places[low - 1] if low else None
