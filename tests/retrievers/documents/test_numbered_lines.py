"""Sections by the numbers of plain text and of Markdown without headings, and looking them up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.statute import make_corpus

from assay.retrievers.base import Document
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.legs.lookups.exact import ExactLeg

ACT = """TIDE ACT 2020

Section 1. Scope ........ 1
Section 13. Liability ....... 4

TITLE II. HARBOURS

Section 1. Scope
This act is about harbours. It is read with Section 13
of this act, and Section 9 does not touch it.

Section 13 Liability of the Master.

(a) The master is liable.

(b) The mate is not.

Section 13bis. Insurance. The master shall hold an insurance that covers every loss of cargo for \
which a claim can be made under this act.

Section 5 applies to him too.

TITLE III. CREWS

Article 12
1. The owner shall take all measures that are needed.
2. The owner shall tell the crew of them in plain words.

SCHEDULE 1

Fees of all kinds.
"""
CONTRACT = """Mooring agreement

1. DEFINITIONS. In this agreement a berth is a place at the quay.

2. Term

7.1 The harbour grants the owner a berth for the time of one year.
7.2 The owner pays the harbour the dues of that year in advance.

3. Dues

The dues are those of the schedule.
"""


def test_numbered_lines_open_sections():
    structure = parse(ACT, plain=True)
    placed = [(section.level, section.id) for section in structure.sections]
    assert placed == [
        (0, ""),
        (1, "title_ii"),
        (2, "sec_1"),
        (2, "sec_13"),
        (2, "sec_13bis"),
        (1, "title_iii"),
        (3, "article_12"),
        (1, "schedule_1"),
    ]
    assert structure.sections[3].headings == ("TITLE II. HARBOURS", ACT.splitlines()[11])
    assert structure.sections[4].title == "Section 13bis. Insurance."
    paragraphs = [paragraph.id for paragraph in structure.paragraphs]
    assert paragraphs == ["sec_13_a", "sec_13_b", "article_12_1", "article_12_2"]
    contract = parse(CONTRACT, plain=True)
    assert [it.title for it in contract.sections] == ["", "1. DEFINITIONS.", "2. Term", "3. Dues"]
    assert [item.id for item in contract.paragraphs] == ["sec_7_1", "sec_7_2"]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# One\n\n## Two\n\nSection 13. Liability\n\nText.\n", ["One", "Two"]),
        ("```\nSection 13. Liability\n\nText.\n```\n\n| Section 14. Dues |\n|---|\n| x |\n", [""]),
    ],
)
def test_markdown_without_headings_is_read_alike(text, titles):
    lines = [section.id for section in parse(ACT, plain=True).sections]
    assert [section.id for section in parse(ACT).sections] == lines
    titled = parse(f"# The act\n\n{ACT}").sections
    assert [section.id for section in titled] == ["the_act", *lines[1:]]
    assert titled[-1].headings == ("The act", "SCHEDULE 1")
    # Headings of its own are all that count, and code and tables hold none.
    assert [section.title for section in parse(text).sections] == titles


@pytest.mark.parametrize(
    "text",
    [
        "Buy:\n\n1. Apples\n2. Pears\n",
        "1. Apples\n\n2. Pears\n\n3. Plums\n",
        "Section 13 of the act\nholds.\n",
        "It is as the act says in\nSection 13. Then it ends.\n",
        "Section 13, 14 and 15\napply.\n",
        "Article 12(3)\napplies.\n",
        "2024 Was a good year\n\nIt was.\n",
        "Part of it\n\nIs here.\n",
        "Article 3 ........ 7\nText.\n",
        "See Chapter 5\n\nIt is long.\n",
    ],
)
def test_what_opens_none(text):
    assert {section.title for section in parse(text, plain=True).sections} == {""}


@given(st.lists(st.sampled_from([*ACT.splitlines(), *CONTRACT.splitlines(), "# Title", "```"])))
def test_sections_cover_the_text(lines):
    text = "\n".join(lines)
    for plain in (True, False):
        structure = parse(text, plain)
        ends = [0, *(section.end for section in structure.sections)]
        assert [section.start for section in structure.sections] == ends[:-1]
        assert ends[-1] == len(text)
        for section in structure.sections:
            assert section.start <= section.body <= section.end
        starts = [paragraph.start for paragraph in structure.paragraphs]
        assert starts == sorted(starts)


def find(query, corpus):
    leg = ExactLeg()
    leg.index(corpus)
    return [corpus.chunks[position].text for position, _ in leg.search(query, 100).candidates]


LAW = (
    "# Law\n\n## Title I\n\nOne.\n\n### § 1 A\n\nAye.\n\n## Title II\n\nTwo.\n\n"
    "### § 3 B\n\nBee.\n\n### § 4 C\n\nSee.\n\n"
    "### § 6 D\n\nDee.\n\n## Title III\n\n### § 7 E\n\nEbb.\n"
)


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        ("Title II", ["Two.", "Bee.", "See.", "Dee."]),  # a division gives all its sections
        ("§§ 3–6", ["Bee.", "See.", "Dee."]),  # a range gives all that is there
        ("§ 3 to § 6", ["Bee.", "See.", "Dee."]),
        ("sections 3 through 6", ["Bee.", "See.", "Dee."]),
    ],
)
def test_divisions_and_ranges_are_looked_up(query, ends):
    found = find(query, make_corpus(Document("law.md", LAW)))
    assert [text.split()[-1] for text in found] == ends


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("§ 13(b)", "(b) The mate"),
        ("section 13bis", "Section 13bis."),
        ("Article 12(2)", "2. The owner"),
        ("clause 7.1", "7.1 The harbour"),
        ("Schedule 1", "SCHEDULE 1"),
    ],
)
def test_look_ups_in_plain_text(query, first):
    corpus = make_corpus(Document("act.txt", ACT), Document("contract.txt", CONTRACT))
    assert first in find(query, corpus)[0]
