"""Every chunker keeps every rule, and every rule catches a chunker that breaks it."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.retrievers.base import Chunk, Document
from assay.retrievers.conformance import ConformanceError
from assay.retrievers.documents.chunkers import (
    Chunker,
    StructureChunker,
    is_intact,
)
from assay.retrievers.documents.chunkers.combine_split import CombineSplitChunker
from assay.retrievers.documents.chunkers.simple import (
    DocumentChunker,
    FixedChunker,
    ParentChildChunker,
    SectionChunker,
)
from assay.retrievers.documents.conformance import DOCUMENTS, RULES, Cutting
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import Tokenize


def tokenize(text):
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def tokenize_parts(text):
    """Words in parts, as sub-word tokenizers have them."""
    return [match.span() for match in re.finditer(r"\w{1,4}|[^\w\s]", text)]


SMALL: list[Chunker] = [
    StructureChunker(max_tokens=40, overlap_tokens=8),
    SectionChunker(max_tokens=30),
    FixedChunker(type="fixed", max_tokens=30, overlap_tokens=6),
    FixedChunker(type="fixed", max_tokens=30, overlap_tokens=6, restart="document"),
    CombineSplitChunker(
        type="combine_split", target_min=40, target_max=80, micro_tokens=10, max_tokens=120,
        overlap_tokens=10,
    ),
    ParentChildChunker(
        type="parent_child", parent_tokens=60, parent_overlap_tokens=10, max_tokens=20,
        overlap_tokens=5,
    ),
    CombineSplitChunker(
        type="combine_split", target_min=40, target_max=80, micro_tokens=10, max_tokens=120,
        overlap_tokens=10, absorb_across=True, split_to_target=False,
    ),
    CombineSplitChunker(
        type="combine_split", target_min=40, target_max=80, micro_tokens=10, max_tokens=120,
        overlap_tokens=10, respect_h2=False,
    ),
    DocumentChunker(type="document"),
]  # fmt: skip
USUAL: list[Chunker] = [
    StructureChunker(),
    SectionChunker(),
    FixedChunker(type="fixed"),
    CombineSplitChunker(type="combine_split"),
    ParentChildChunker(type="parent_child"),
    DocumentChunker(type="document"),
]


def name(chunker):
    parts = (getattr(chunker, key, "") for key in ("restart", "respect_h2", "absorb_across"))
    return "-".join(map(str, (type(chunker).__name__, chunker.limit, *parts)))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("chunker", SMALL, ids=name)
def test_chunkers_keep_the_rules(chunker, rule):
    rule.check(Cutting(chunker, DOCUMENTS, tokenize_parts))


def read(folder, most=40_000):
    texts = {path.name: path.read_bytes().decode() for path in sorted(folder.rglob("*.md"))}
    return [Document(name, text) for name, text in texts.items() if len(text) < most]


ZERO_TOLERANCE = ("rebuilds_the_document", "none_is_over_the_limit", "ids_never_collide")


@pytest.mark.slow
@pytest.mark.parametrize("part", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("chunker", USUAL, ids=name)
def test_real_documents_keep_the_rules(chunker, part):
    """Every sixth document, or all, on the rules that allow no failure; of these every ninth on the
    others.
    """
    documents = read(Path(__file__).parents[3] / "datasets/harbourline/docs")
    if "ASSAY_DATA" in os.environ:
        documents += read(Path(os.environ["ASSAY_DATA"]) / "dccode_t42/docs", 15_000)
    documents = documents[::part]
    assert documents
    for rule in RULES:
        some = documents if rule.name in ZERO_TOLERANCE else documents[::9]
        rule.check(Cutting(chunker, some, tokenize))


LINES = st.sampled_from(
    ["# One", "## Two", "### Examples", "### Three", "###### Six", "Text, and more text.", "", "",
     "```", "    code", "- item", "> q", "===", "---", "\ufeff", "| a | b |", "|---|---|",
     "x" * 60, "é\u2028ü\x0b\x0cz", "(a) First. Second.", "One sentence. Another one! A third?"]
)  # fmt: skip
MARKDOWN = st.builds(
    lambda rows, newline: newline.join(rows),
    st.lists(LINES, max_size=40),
    st.sampled_from(["\n", "\r\n"]),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(MARKDOWN | st.text(max_size=200), max_size=2), st.sampled_from(SMALL))
@example(["# One\n# One\n### Examples"], SMALL[6])
@example(["# One\nText.\n### Three\n#### Examples"], SMALL[4])
def test_any_documents_keep_the_rules(texts, chunker):
    documents = [Document(f"{number}.md", text) for number, text in enumerate(texts)]
    for rule in RULES:
        rule.check(Cutting(chunker, documents, tokenize_parts))


class Broken(DocumentChunker):
    """Spoils the chunks of a sound chunker."""

    sound: Chunker = StructureChunker(max_tokens=40, overlap_tokens=8)

    @property
    def limit(self) -> int | None:
        return self.sound.limit

    @property
    def overlap(self) -> int:
        return self.sound.overlap

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        return self.sound.scope(structure, offset)

    def chunk(self, document: Document, tokenize: Tokenize) -> list[Chunk]:
        return self.spoil(self.sound.chunk(document, tokenize), document)

    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return chunks


class Forgetful(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return chunks[:2] + chunks[3:]


class Tidy(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return [replace(chunk, text=chunk.text.strip()) for chunk in chunks]


class Backwards(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return chunks[::-1]


class Generous(Broken):
    sound: Chunker = StructureChunker(max_tokens=40, overlap_tokens=20)

    @property
    def overlap(self) -> int:
        return 10


class Large(Broken):
    @property
    def limit(self) -> int | None:
        return 20


class Numbering(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return [replace(chunk, id=f"{document.id}-{n}") for n, chunk in enumerate(chunks)]


class ByText(Broken):
    """Two documents, or two places of one, share an id where they share a text."""

    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        from assay.retrievers.store.digest import digest

        return [replace(chunk, id=digest(chunk.text)[:24]) for chunk in chunks]


class Sorting(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        from assay.retrievers.store.digest import digest

        return [
            replace(chunk, id=digest(document.id, sorted(chunk.text.split()), n)[:24])
            for n, chunk in enumerate(chunks)
        ]


class Changing(Broken):
    calls: list[int] = []  # noqa: RUF012

    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        self.calls.append(1)
        return [replace(chunk, headings=(str(len(self.calls)),)) for chunk in chunks]


class ByOffset(Broken):
    """An edit moves every chunk behind it."""

    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        from assay.retrievers.store.digest import digest

        return [
            replace(chunk, id=digest(document.id, chunk.start, chunk.text)[:24]) for chunk in chunks
        ]


class Indiscriminate(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return [replace(chunk, kind="content") for chunk in chunks]


class Careless(FixedChunker):
    @property
    def keeps_blocks(self) -> bool:
        return True


class Misplaced(Broken):
    def spoil(self, chunks: list[Chunk], document: Document) -> list[Chunk]:
        return [replace(chunk, section_id="elsewhere") for chunk in chunks]


class Unbounded(Broken):
    """Promises a size that its sound chunker does not keep."""

    @property
    def target(self) -> int | None:
        return 20


CULPRITS: dict[str, Chunker] = {
    "rebuilds_the_document": Forgetful(type="document"),
    "texts_are_true": Tidy(type="document"),
    "chunks_stand_in_order": Backwards(type="document"),
    "overlaps_are_bounded": Generous(type="document"),
    "none_is_over_the_limit": Large(type="document"),
    "ids_are_digests": Numbering(type="document"),
    "ids_never_collide": ByText(type="document"),
    "ids_keep_the_order": Sorting(type="document"),
    "same_input_same_chunks": Changing(type="document"),
    "edits_stay_local": ByOffset(type="document"),
    "frontmatter_is_told_apart": Indiscriminate(type="document"),
    "blocks_stay_whole": Careless(type="fixed", max_tokens=30, overlap_tokens=0),
    "text_without_headings_is_cut": Unbounded(type="document"),
    "places_are_true": Misplaced(type="document"),
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_rule_catches_its_culprit(rule):
    rule.check(Cutting(Broken(type="document")))
    with pytest.raises(ConformanceError):
        rule.check(Cutting(CULPRITS[rule.name]))


def test_windows_that_cross_headings_do_not_stay_local():
    """The claim that a scope makes is needed: windows over the whole document move."""

    class Overconfident(FixedChunker):
        def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
            return Chunker.scope(self, structure, offset)

    chunker = Overconfident(type="fixed", max_tokens=30, overlap_tokens=0, restart="document")
    (rule,) = (rule for rule in RULES if rule.name == "edits_stay_local")
    with pytest.raises(ConformanceError):
        rule.check(Cutting(chunker))


N = 2000
HOSTILE = {
    "spaces": "a" + " " * N + "b" + " " * N,
    "digits": "1" * N,
    "quotes": '"a",' * N,
    "labels": "(a)" * N,
    "stars": "**a** " * N,
    "brackets": "[[" * N,
    "paragraphs": "(a) x\n\n" * N,
    "units": "Chapter 5 of " * N,
    "levels": "paragraph (1) of " * N,
    "lists": "subsections (a)" + " and (b)" * N,
    "definitions": "“a” means b. " * N,
    "headings": "# a\n" * N,
    "lines": "\n" * N,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_cut(text):
    """Each once took quadratic time or the whole stack."""
    document = Document("d.md", text)
    assert is_intact(document, StructureChunker().chunk(document, tokenize))
