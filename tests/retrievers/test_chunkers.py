"""Chunkers on worked and on generated Markdown."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrievers.base import Context, Document, Passage
from retrievers.documents.chunkers import (
    DocumentChunkerSettings,
    SectionChunkerSettings,
    take_passages,
)
from retrievers.documents.contexts import contextualise
from retrievers.documents.sections import frontmatter_end, split_sections


def count(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


TEXT = """---
title: Guide
---
Before any heading.

# Guide

## Install

Run the installer.

```sh
# not a heading
```

> # nor this

Setext
------

Body of setext.

### Deep

Deep body.

## Last
"""


def test_sections() -> None:
    found = [(TEXT[s.start : s.body], s.headings) for s in split_sections(TEXT)]
    assert found == [
        ("", ()),
        ("# Guide\n", ("Guide",)),
        ("## Install\n", ("Guide", "Install")),
        ("Setext\n------\n", ("Guide", "Setext")),
        ("### Deep\n", ("Guide", "Setext", "Deep")),
        ("## Last\n", ("Guide", "Last")),
    ]


def test_a_heading_without_body_opens_the_next_chunk() -> None:
    chunks = SectionChunkerSettings().chunk(Document("d", TEXT), count)
    assert [chunk.text.split("\n")[0] for chunk in chunks] == [
        "Before any heading.", "# Guide", "Setext", "### Deep", "## Last"
    ]  # fmt: skip
    assert chunks[1].headings == ("Guide", "Install")


def test_overlong_sections_are_cut_at_the_best_place() -> None:
    paragraphs = "\n\n".join(f"Paragraph {n} has some words. And a second sentence." for n in range(6))
    chunks = SectionChunkerSettings(max_tokens=25).chunk(Document("d", paragraphs), count)
    assert all(chunk.text.startswith("Paragraph") for chunk in chunks)
    one_line = " ".join(f"Sentence number {n} is here." for n in range(30))
    chunks = SectionChunkerSettings(max_tokens=16).chunk(Document("d", one_line), count)
    assert all(chunk.text.startswith("Sentence") for chunk in chunks)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    chunks = SectionChunkerSettings().chunk(Document("d", text), count)
    if newline != "\r":  # frontmatter needs a line feed
        assert [c.headings for c in chunks][1:] == [
            ("Guide", "Install"), ("Guide", "Setext"), ("Guide", "Setext", "Deep"), ("Guide", "Last")
        ]  # fmt: skip
    assert "".join(chunk.text for chunk in chunks) == text[frontmatter_end(text) :]


lines = st.sampled_from(
    ["# One", "## Two", "###### Six", "Text, and more text.", "", "```", "    code", "- item", "> q",
     "===", "---", "\ufeff", "| a | b |", "x" * 60, "é\u2028ü\x0b\x0cz", "#", "\t# tab"]
)  # fmt: skip
markdown = st.lists(lines, max_size=30).flatmap(
    lambda rows: st.sampled_from(["\n", "\r\n"]).map(lambda newline: newline.join(rows))
)


@given(markdown, st.integers(16, 60))
def test_chunks_cover_the_document_in_order(text: str, limit: int) -> None:
    document = Document("d", text)
    chunks = SectionChunkerSettings(max_tokens=limit).chunk(document, count)
    assert all(text[c.start : c.end] == c.text for c in chunks)
    assert all(one.end == other.start for one, other in pairwise(chunks))
    assert "".join(chunk.text for chunk in chunks) == text[frontmatter_end(text) :]
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert chunks == SectionChunkerSettings(max_tokens=limit).chunk(document, count)


@given(st.text(max_size=400))
def test_any_text_is_covered_within_the_limit(text: str) -> None:
    # Bodies only: a run of bare headings may exceed the limit together with its first body.
    document = Document("d", text.replace("#", " ").replace("=", " ").replace("-", " "))
    chunks = SectionChunkerSettings(max_tokens=16).chunk(document, count)
    assert all(count(chunk.text) <= 16 for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == document.text


def test_the_whole_document() -> None:
    (chunk,) = DocumentChunkerSettings(type="document").chunk(Document("d", TEXT), count)
    assert chunk.text == TEXT[frontmatter_end(TEXT) :]
    assert DocumentChunkerSettings(type="document").chunk(Document("d", " \n"), count) == []


def test_passages_and_contexts() -> None:
    document = Document(
        "d",
        "First part. Second part.",
        title="Title",
        passages=(Passage("p1", 0, 11), Passage("p2", 12, 24, "Head")),
        contexts=(Context(0, 11, "about the first"), Context(12, 24, "about the second")),
    )
    chunks = take_passages(document)
    assert [chunk.text for chunk in chunks] == ["First part.", "Second part."]
    shipped = contextualise(chunks, document, "collection", 50)
    assert shipped[1].searchable == "about the second\n\nHead\nSecond part."
    headings = contextualise(chunks, document, "headings", 50)
    assert headings[0].searchable == "Title\n\nFirst part."
    opening = contextualise(chunks, document, "opening", 2)
    assert [chunk.context for chunk in opening] == ["", "First part."]
    assert contextualise(chunks, document, "none", 50) == chunks
