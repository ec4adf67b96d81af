"""Every chunker keeps every rule, and every rule catches a chunker that breaks it."""

import os
import re
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.retrievers.base import Document
from assay.retrievers.conformance import ConformanceError
from assay.retrievers.documents.chunkers import Chunker, StructureChunker, is_intact
from assay.retrievers.documents.chunkers.combine_split import CombineSplitChunker
from assay.retrievers.documents.chunkers.simple import (
    DocumentChunker,
    FixedChunker,
    ParentChildChunker,
    SectionChunker,
)
from assay.retrievers.documents.conformance import DOCUMENTS, RULES, Cutting
from assay.retrievers.store.digest import digest


def tokenize(text):
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def tokenize_parts(text):
    """Words in parts, as sub-word tokenizers have them."""
    return [match.span() for match in re.finditer(r"\w{1,4}|[^\w\s]", text)]


combine = partial(
    CombineSplitChunker, type="combine_split", target_min=40, target_max=80, micro_tokens=10,
    max_tokens=120, overlap_tokens=10,
)  # fmt: skip
SMALL = [
    StructureChunker(max_tokens=40, overlap_tokens=8),
    SectionChunker(max_tokens=30),
    FixedChunker(type="fixed", max_tokens=30, overlap_tokens=6),
    FixedChunker(type="fixed", max_tokens=30, overlap_tokens=6, restart="document"),
    combine(),
    ParentChildChunker(
        type="parent_child", parent_tokens=60, parent_overlap_tokens=10, max_tokens=20,
        overlap_tokens=5,
    ),
    combine(absorb_across=True, split_to_target=False),
    combine(respect_h2=False),
    DocumentChunker(type="document"),
]  # fmt: skip
USUAL = [
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
    """Spoils the chunks of a sound chunker, or claims of them what does not hold."""

    sound: Any = StructureChunker(max_tokens=40, overlap_tokens=8)
    spoil: Any = None
    claims: Any = ()

    @property
    def limit(self):
        return dict(self.claims).get("limit", self.sound.limit)

    @property
    def overlap(self):
        return dict(self.claims).get("overlap", self.sound.overlap)

    @property
    def target(self):
        return dict(self.claims).get("target", super().target)

    def scope(self, structure, offset):
        return self.sound.scope(structure, offset)

    def chunk(self, document, tokenize):
        chunks = self.sound.chunk(document, tokenize)
        return self.spoil(chunks, document) if self.spoil else chunks


def spoil(change, **other):
    return Broken(type="document", spoil=change, **other)


def alter(change):
    """Change each chunk, given its number and the id of its document."""
    return spoil(
        lambda chunks, document: [
            replace(chunk, **change(chunk, n, document.id)) for n, chunk in enumerate(chunks)
        ]
    )


class Careless(FixedChunker):
    @property
    def keeps_blocks(self):
        return True


calls = count()
LARGE_OVERLAP = StructureChunker(max_tokens=40, overlap_tokens=20)
CULPRITS = {
    "rebuilds_the_document": spoil(lambda chunks, _: chunks[:2] + chunks[3:]),
    "texts_are_true": alter(lambda chunk, n, id_: {"text": chunk.text.strip()}),
    "chunks_stand_in_order": spoil(lambda chunks, _: chunks[::-1]),
    "overlaps_are_bounded": spoil(None, sound=LARGE_OVERLAP, claims={"overlap": 10}),
    "none_is_over_the_limit": spoil(None, claims={"limit": 20}),
    "ids_are_digests": alter(lambda chunk, n, id_: {"id": f"{id_}-{n}"}),
    # Two documents, or two places of one, share an id where they share a text.
    "ids_never_collide": alter(lambda chunk, n, id_: {"id": digest(chunk.text)[:24]}),
    "ids_keep_the_order": alter(
        lambda chunk, n, id_: {"id": digest(id_, sorted(chunk.text.split()), n)[:24]}
    ),
    "same_input_same_chunks": alter(lambda chunk, n, id_: {"headings": (str(next(calls)),)}),
    # An edit moves every chunk behind it.
    "edits_stay_local": alter(
        lambda chunk, n, id_: {"id": digest(id_, chunk.start, chunk.text)[:24]}
    ),
    "frontmatter_is_told_apart": alter(lambda chunk, n, id_: {"kind": "content"}),
    "blocks_stay_whole": Careless(type="fixed", max_tokens=30, overlap_tokens=0),
    "text_without_headings_is_cut": spoil(None, claims={"target": 20}),
    "places_are_true": alter(lambda chunk, n, id_: {"section_id": "elsewhere"}),
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_rule_catches_its_culprit(rule):
    rule.check(Cutting(Broken(type="document")))
    with pytest.raises(ConformanceError):
        rule.check(Cutting(CULPRITS[rule.name]))


def test_windows_that_cross_headings_do_not_stay_local():
    """The claim that a scope makes is needed: windows over the whole document move."""

    class Overconfident(FixedChunker):
        def scope(self, structure, offset):
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
