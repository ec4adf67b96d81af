"""Which bare numbers of headings are those of sections, and which only say something."""

import pytest
from samples.statute import make_corpus

from assay.retrievers.base import Document
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.legs.lookups.exact import ExactLeg


def read(*headings):
    return [section.id for section in parse("\n\nText.\n\n".join(headings)).sections]


@pytest.mark.parametrize(
    ("headings", "ids"),
    [
        (["# MK-25", "## 1 Scope", "## 2 Tools", "### 2.1 Drill", "## 3 Mounting"],
         ["mk_25", "sec_1", "sec_2", "sec_2_1", "sec_3"]),
        (["## I Aim", "## II Method", "## III Data", "## IV Results"],
         ["sec_i", "sec_ii", "sec_iii", "sec_iv"]),
        (["## I. Aim", "## II. Results"], ["sec_i", "sec_ii"]),
        (["## (1) Fees", "## (2) Fines", "## (3) Appeals"], ["sec_1", "sec_2", "sec_3"]),
        (["# Article 12", "## (1) Fees", "## (2) Fines"],
         ["article_12", "article_12_1", "article_12_2"]),
        (["## Section One", "## Section Two: Fees", "# Part Three"], ["sec_1", "sec_2", "part_3"]),
        (["## Section IV. Fees", "## Section A"], ["sec_iv", "sec_a"]),
        (["## Note 23. Related parties"], ["note_23"]),
        (["## 0 Before", "## 1 After"], ["sec_0", "sec_1"]),
        (["## 7 Pumps", "## 8 Valves", "## 9 Meters"], ["sec_7", "sec_8", "sec_9"]),
        (["# A", "## 1 Pumps", "## 2 Valves", "# B", "## 3 Meters"],
         ["a", "sec_1", "sec_2", "b", "sec_3"]),
        (["## 1 Pumps", "## Notes", "## 96 minutes", "## 2 iPad", "## 3 Meters"],
         ["sec_1", "notes", "96_minutes", "sec_2", "sec_3"]),
    ],
)  # fmt: skip
def test_numbers_that_count_on(headings, ids):
    assert read(*headings) == ids


@pytest.mark.parametrize(
    "headings",
    [
        ["## 2024 Results", "## 2025 Results", "## 2026 Outlook"],
        ["## 1 Year", "## 2 Years", "## 3 Years"],
        ["## 3 mm", "## 4 mm", "## 5 mm"],
        ["## 1 mm screws", "## 2 cm pipes", "## 3 in nails"],
        ["## 3 Ways to fail", "## Others"],
        ["## 7 Pumps", "## 8 Valves"],
        ["## 2 Beta", "## 1 Alpha"],
        ["# A", "## 1 Pump", "# B", "## 2 Valves"],
        ["## I was late", "## You were"],
        ["## IIII Pumps", "## Notes"],
    ],
)
def test_numbers_that_do_not(headings):
    assert not [id_ for id_ in read(*headings) if id_.startswith("sec_")]
    lists = "# L\n\n1. One\n2. Two\n\n1 Scope\n\n2 Tools\n\n- 3 Mounting\n"
    assert len(parse(lists).sections) == 1


MANUAL = Document(
    "mk-25.md", "# MK-25 manual\n\n## 1 Tools\n\nDrill.\n\n## 2 Mounting\n\nBolt it.\n"
)
GUIDE = Document("lt-8.md", "# LT-8 manual\n\n## 2. Wiring\n\nRed.\n\n## Mounting\n\nGlue it.\n")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("section 2 of the MK-25 manual", "Bolt"),
        ("section 2 of the LT-8 manual", "Red"),
        ("2 Mounting", "Bolt"),
        ("§ 2 Mounting", "Bolt"),
        ("2. Mounting", "Bolt"),
        ("Mounting", "Glue"),  # which is the whole of that heading
    ],
)
def test_a_query_finds_them(query, text):
    corpus = make_corpus(MANUAL, GUIDE)
    leg = ExactLeg()
    leg.index(corpus)
    assert text in corpus.chunks[leg.search(query, 10).candidates[0][0]].text
    assert [section.name for section in parse(MANUAL.text).sections[1:]] == ["Tools", "Mounting"]
