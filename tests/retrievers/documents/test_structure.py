"""Sections, blocks, links, numbered paragraphs and frontmatter of worked documents."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import frontmatter_end, read_frontmatter
from assay.retrievers.base.markdown import read_headings
from assay.retrievers.documents.structure.identifiers import identify, split_title
from assay.retrievers.documents.structure.structure import parse, parse_document

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

- # nor that

Setext `code` [[page|link]]
------

Body of setext.

### Deep

Deep body.

## Last
"""


def test_sections():
    found = [(TEXT[s.start : s.body], s.level, s.headings) for s in parse(TEXT).sections]
    assert found == [
        ("", 0, ()),
        ("# Guide\n", 1, ("Guide",)),
        ("## Install\n", 2, ("Guide", "Install")),
        ("Setext `code` [[page|link]]\n------\n", 2, ("Guide", "Setext code link")),
        ("### Deep\n", 3, ("Guide", "Setext code link", "Deep")),
        ("## Last\n", 2, ("Guide", "Last")),
    ]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_change_nothing(newline):
    body = TEXT.partition("---\nBefore")[2]
    structure, other = parse(body), parse(body.replace("\n", newline))
    assert [s.headings for s in other.sections] == [s.headings for s in structure.sections]
    assert [b.kind for b in other.blocks] == [b.kind for b in structure.blocks]
    (section,) = parse(f"\ufeff# Title{newline}{newline}body{newline}").sections
    assert (section.headings, section.start) == (("Title",), 0)
    plain = parse_document(Document("a.txt", f"# One{newline}{newline}```{newline}Two{newline}"))
    assert [section.title for section in plain.sections] == [""]
    assert [block.kind for block in plain.blocks] == ["paragraph", "paragraph"]


def test_blocks():
    text = (
        "Words.\n\n- one\n\n  ```py title=x\n  code\n  ```\n- two\n\n    indented\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n<div>\nx\n</div>\n\n***\n\n    code?\n"
    )
    blocks = parse(text).blocks
    top = [(block.kind, text[block.start : block.end]) for block in blocks if block.depth == 0]
    assert top == [
        ("paragraph", "Words."),
        ("list", "- one\n\n  ```py title=x\n  code\n  ```\n- two\n\n    indented"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("quote", "> quote"),
        ("html", "<div>\nx\n</div>"),
        ("rule", "***"),
        ("indented", "    code?"),
    ]
    (code,) = (block for block in blocks if block.kind == "code")
    assert code.language == "py"
    assert text[code.start : code.end] == "  ```py title=x\n  code\n  ```"


def test_links():
    text = "A [link](other.md#part) and [[Page]] and [[Page#Top|words]], not `[[code]]`.\n\nEnd."
    links = parse(text).links
    assert [(link.target, link.text, link.wiki) for link in links] == [
        ("other.md#part", "link", False),
        ("Page", "Page", True),
        ("Page#Top", "words", True),
    ]
    assert {text[link.start : link.end] for link in links} == {text.partition("\n")[0] + "\n"}


@pytest.mark.parametrize(
    ("title", "id_", "rest"),
    [
        ("§ 42–3131.17. Transmission of list.", "sec_42_3131_17", "Transmission of list."),
        ("§42-3131.17", "sec_42_3131_17", None),
        ("§ 42 – 3131.17", "sec_42_3131_17", None),
        ("§\u00a042\u2011\u20093131.17", "sec_42_3131_17", None),
        ("Section 203(a)(1)", "sec_203_a_1", None),
        ("Sec. 203 (a)(1) Reports", "sec_203_a_1", "Reports"),
        ("§ 42-3131.17(a-1)", "sec_42_3131_17_a1", None),
        ("4.2 Refunds", "sec_4_2", "Refunds"),
        ("1. Tickets", "sec_1", "Tickets"),
        ("§ 101 – Definitions", "sec_101", None),
        ("Part 1 – General", "part_1", None),
        ("Chapter 28A. Housing", "chapter_28a", None),
        ("SUBCHAPTER II-A. Loans", "subchapter_ii_a", None),
        ("Article IX", "article_ix", None),
        ("Appendix B", "appendix_b", None),
        ("Lost tickets", "lost_tickets", "Lost tickets"),
        ("3 ways to fail", "3_ways_to_fail", None),
        ("Part time work", "part_time_work", None),
        ("Größe & Maß", "größe_maß", None),
        ("***", "", None),
    ],
)
def test_section_ids_and_titles_without_their_number(title, id_, rest):
    assert identify(title) == id_
    assert rest is None or split_title(title) == rest


def test_a_section_id_stays_when_other_sections_come():
    ids = [section.id for section in parse("# A\n\nx\n\n## Same\n\nx\n").sections]
    more = [section.id for section in parse("# New\n\n## Same\n\n# A\n\nx\n\n## Same\n").sections]
    assert more[2:] == ids == ["a", "same"]


STATUTE = """# § 4–2. Rules.

(a)(1) One.

  (2) Two (see (c)).

(b) *Head. —*

  (1)

    (A) Deep.

      (i) Deeper.

      (ii) Deeper.

    (B) Deep.

(b-1) Between.

(h) Eighth.

(i) Ninth, not a Roman one.

```
(j) in code
```

Text (k) in a line.
"""


def test_numbered_paragraphs():
    structure = parse(STATUTE)
    assert [item.id.removeprefix("sec_4_2_") for item in structure.paragraphs] == [
        "a", "a_1", "a_2", "b", "b_1", "b_1_a", "b_1_a_i", "b_1_a_ii", "b_1_b", "b1", "h", "i"
    ]  # fmt: skip
    texts = {item.id: STATUTE[item.start : item.end].strip() for item in structure.paragraphs}
    assert texts["sec_4_2_a_2"] == "(2) Two (see (c))."
    assert texts["sec_4_2_b_1_a"].endswith("(ii) Deeper.")
    assert texts["sec_4_2_a"].startswith("(a)(1) One.")
    flat = "# S\n(a) x\n(1) x\n(A) x\n(i) x\n(ii) x\n(B) x\n(2) x\n(b) x\n\n# T\n(2) x\n"
    assert [item.labels for item in parse(flat).paragraphs] == [
        ("a",), ("a", "1"), ("a", "1", "A"), ("a", "1", "A", "i"), ("a", "1", "A", "ii"),
        ("a", "1", "B"), ("a", "2"), ("b",), ("2",),
    ]  # fmt: skip


def test_frontmatter():
    text = (
        "---\ntitle:  A  title\nsummary: What it is\nkeywords: one, two\ntags: [x, y]\n"
        "aliases: Other\nauthors: [Ann, Bob]\ntype: policy\ndate: 2024-01-02\n"
        "related: [[other]]\n---\nBody"
    )
    found = read_frontmatter(text)
    assert text[found.end :] == "Body"
    assert found.title == "A title"
    assert found.description == "What it is"
    assert (found.keywords, found.tags, found.aliases) == (("one", "two"), ("x", "y"), ("Other",))
    assert (found.author, found.category) == ("Ann, Bob", "policy")
    assert found.dates == {"date": "2024-01-02"}
    assert found.related == ("other",)
    assert found.text == "A title\nWhat it is\none, two\nx, y\nOther\nAnn, Bob\npolicy"
    assert found.note == ""
    assert found.metadata["date"] == "2024-01-02"
    assert found.metadata["related"] == [["other"]]


@pytest.mark.parametrize(
    ("block", "note"),
    [
        ("title: [", "not YAML"),
        ("date: 2024-13-45", "not YAML"),
        ("- a", "a list"),
        ("? {a: 1}\n: b", "not YAML"),
        ("title: a\ndate: 2024-02-30", "frontmatter: line 3: not YAML: day is out of range"),
        ("title: a\ntitle: b", "frontmatter: line 3: the key 'title' stands twice"),
        ("title: &a [*a]", "frontmatter: line 2: *a stands within itself"),
    ],
)
def test_broken_frontmatter_is_text_with_a_note(block, note):
    found = read_frontmatter(f"---\n{block}\n---\nBody")
    assert note in found.note
    assert found.note.endswith("; it is read as text")
    assert (found.title, found.metadata) == ("", {})
    assert found.end == frontmatter_end(f"---\n{block}\n---\nBody") == 0
    unclosed = read_frontmatter("---\ntitle: x\n\nBody")
    assert (unclosed.end, "not closed" in unclosed.note) == (0, True)
    assert read_frontmatter("---\n\nBody").note == ""


@pytest.mark.parametrize(
    "block",
    [
        "\nOpening hours: 9 to 5\n\n",
        "  \nOpening hours: 9 to 5\n",
        "\r\ntitle: x\n",
        "# Harbour\n",
        "The office is open from 9 to 5.\n",
        "The office is open.\n\nSo is the café: every day.\n",
    ],
)
def test_text_between_rules_is_text(block):
    text = f"---\n{block}---\n\n# Harbour\n"
    structure = parse(text)
    assert structure.frontmatter.end == frontmatter_end(text) == 0
    assert "".join(text[item.start : item.end] for item in structure.sections) == text


@given(st.text())
def test_any_frontmatter_is_read_or_noted(block):
    found = read_frontmatter(f"---\n{block}\n---\n")
    assert json.loads(json.dumps(found.metadata)) == found.metadata
    assert not (found.end and found.note)
    assert found.metadata or not found.end or not block
    assert frontmatter_end(f"---\n{block}\n---\n") == found.end


LINES = st.sampled_from(
    ["# One", "## Two", "Text.", "", "```", "    code", "- item", "> q", "===", "---", "| a |",
     "|---|", "(a) x", "  (1) y", "[[p]]", "\ufeff", "a\u2028b", "x\x00y", "<div>"]
)  # fmt: skip
MARKDOWN = st.builds(
    lambda rows, newline: newline.join(rows),
    st.lists(LINES, max_size=30),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@given(MARKDOWN)
def test_sections_cover_what_is_not_frontmatter(text):
    structure = parse(text)
    sections = structure.sections
    assert "".join(text[s.start : s.end] for s in sections) == text[structure.frontmatter.end :]
    assert all(one.end == other.start for one, other in pairwise(sections))
    for section in sections:
        assert structure.section_at(section.start) == section
        assert structure.section_at(section.end - 1) == section
    for block in structure.blocks:
        assert structure.frontmatter.end <= block.start <= block.end <= len(text)
    for item in structure.paragraphs:
        assert "(" in text[item.start : item.end]
    assert all(one.start < other.start for one, other in pairwise(structure.paragraphs))


@given(MARKDOWN)
def test_what_is_judged_and_what_is_cut_have_the_same_sections(text):
    cut = [(item.start, item.level, item.title) for item in parse(text).sections if item.level]
    assert [(item.start, item.level, item.title) for item in read_headings(text)] == cut
