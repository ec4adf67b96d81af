"""Sections, blocks, links, numbered paragraphs and frontmatter of worked documents."""

import json
from itertools import pairwise
from pathlib import Path

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


def test_plain_text_has_no_markup():
    structure = parse_document(Document("a.txt", "# One\n\n```\nTwo\n"))
    (section,) = structure.sections
    assert section.title == ""
    assert [block.kind for block in structure.blocks] == ["paragraph", "paragraph"]


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
    ("title", "id_"),
    [
        ("§ 42–3131.17. Transmission of list.", "sec_42_3131_17"),
        ("§42-3131.17", "sec_42_3131_17"),
        ("§ 42 – 3131.17", "sec_42_3131_17"),
        ("§\u00a042\u2011\u20093131.17", "sec_42_3131_17"),
        ("Section 203(a)(1)", "sec_203_a_1"),
        ("Sec. 203 (a)(1) Reports", "sec_203_a_1"),
        ("§ 42-3131.17(a-1)", "sec_42_3131_17_a1"),
        ("4.2 Refunds", "sec_4_2"),
        ("1. Tickets", "sec_1"),
        ("§ 101 – Definitions", "sec_101"),
        ("Part 1 – General", "part_1"),
        ("Chapter 28A. Housing", "chapter_28a"),
        ("SUBCHAPTER II-A. Loans", "subchapter_ii_a"),
        ("Article IX", "article_ix"),
        ("Appendix B", "appendix_b"),
        ("Lost tickets", "lost_tickets"),
        ("3 ways to fail", "3_ways_to_fail"),
        ("Part time work", "part_time_work"),
        ("Größe & Maß", "größe_maß"),
        ("***", ""),
    ],
)
def test_section_ids(title, id_):
    assert identify(title) == id_


def test_a_title_without_its_number():
    assert split_title("§ 42–101. Definitions.") == "Definitions."
    assert split_title("1.2 Names on tickets") == "Names on tickets"
    assert split_title("Lost tickets") == "Lost tickets"


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


def test_numbered_paragraphs_without_indentation():
    text = "# S\n(a) x\n(1) x\n(A) x\n(i) x\n(ii) x\n(B) x\n(2) x\n(b) x\n\n# T\n(2) x\n"
    assert [item.labels for item in parse(text).paragraphs] == [
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


def test_unclosed_frontmatter_is_text():
    found = read_frontmatter("---\ntitle: x\n\nBody")
    assert (found.end, "not closed" in found.note) == (0, True)
    assert read_frontmatter("---\n\nBody").note == ""


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


def test_the_default_collection_parses():
    docs = Path(__file__).parents[3] / "datasets/harbourline/docs"
    for path in docs.rglob("*.md"):
        structure = parse(path.read_bytes().decode())
        assert structure.sections
        assert not structure.frontmatter.note, path


def test_a_byte_order_mark_hides_no_heading():
    (section,) = parse("\ufeff# Title\n\nbody\n").sections
    assert section.headings == ("Title",)
    assert section.start == 0
