"""Cross-references in worked texts."""

import pytest

from assay.retrievers.documents.references.references import find_references
from assay.retrievers.documents.references.targets import Targets
from assay.retrievers.documents.structure.structure import parse

HERE = "# § 7. Here.\n\n(a) First.\n\n  (1) Sub.\n\n(b) Second.\n\n  (2) {text}\n"


def find(text):
    return [found.target for found in find_references(parse(HERE.format(text=text)))]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("see § 42–3131.17(a)(2)", ["sec_42_3131_17_a_2"]),
        ("see Section 5(a)", ["sec_5_a"]),
        ("see section 5 (a).", ["sec_5_a"]),
        ("under clause 4.2.", ["sec_4_2"]),
        ("§§ 801 through 804 and §§ 811 to 819", ["sec_801", "sec_811"]),
        ("§§ 42-1.06 and 42-1.07, and 42-1.09(b)", ["sec_42_1_06", "sec_42_1_07", "sec_42_1_09_b"]),
        ("§ 5, 30 days after", ["sec_5"]),
        ("§§ 42-1 and 42-2, 30 days after", ["sec_42_1", "sec_42_2"]),
        ("§ 5(e)(3) or (4)", ["sec_5_e_3", "sec_5_e_4"]),
        ("§ 5(h-2) and (h-4)", ["sec_5_h2", "sec_5_h4"]),
        ("§ 5(a) and (1) the fee", ["sec_5_a"]),
        ("subsection (a) of this section", ["sec_7_a"]),
        ("paragraphs (1) and (3) of this subsection", ["sec_7_b_1", "sec_7_b_3"]),
        ("paragraph (1)", ["sec_7_b_1"]),
        ("paragraph (b)", ["sec_7_b"]),
        ("subsections (a) and (c) of § 9", ["sec_9_a", "sec_9_c"]),
        ("paragraph (9) of subsection (a) of this section", ["sec_7_a_9"]),
        ("subchapters IV and V of this chapter", ["subchapter_iv", "subchapter_v"]),
        ("Appendix B", ["appendix_b"]),
        ("as defined in Here", ["sec_7"]),
        ("Art. 6 para. 1", ["article_6_1"]),
        ("Art. 6 para. 1 lit. f, and", ["article_6_1_f"]),
        ("Article 6, paragraph 1(f)", ["article_6_1_f"]),
        ("Schedule 2, paragraph 4", ["schedule_2_4"]),
        ("paragraph 4 of Schedule 2", ["schedule_2_4"]),
        ("§1.2.3-1.2.5", ["sec_1_2_3"]),
        ("§ 42-516", ["sec_42_516"]),
        ("s. 12(1)(a)", ["sec_12_1_a"]),
        ("ss. 3-5 and 9", ["sec_3", "sec_9"]),
        ("siehe S. 12", []),
        ("Rule 26(f)", ["sec_26_f"]),
        ("in this section and in this chapter", []),
        ("section heading, part of it, title deed", []),
    ],
)
def test_targets(text, targets):
    assert find(text) == targets


@pytest.mark.parametrize(
    ("text", "external", "section", "within", "last"),
    [
        ("42 U.S.C. § 1437f", True, "sec_1437f", (), None),
        ("29 C.F.R. § 1630.2(g)(1)", True, "sec_1630_2", (), None),
        ("section 3(2)(A) of the Americans with Disabilities Act of 1990", True, "sec_3", (), None),
        ("title II of the Housing Act", True, "title_ii", (), None),
        (
            "under subchapter I of Chapter 5 of Title 2, and so on",
            False, "subchapter_i", ("chapter_5", "title_2"), None,
        ),
        ("§1.2.3-1.2.5", False, "sec_1_2_3", (), "sec_1_2_5"),
        ("ss. 3-5", False, "sec_3", (), "sec_5"),
    ],
)  # fmt: skip
def test_other_bodies_of_law_units_within_units_and_ranges(text, external, section, within, last):
    (found,) = find_references(parse(text))
    assert (bool(found.external), found.section, found.within) == (external, section, within)
    assert [one.section for one in found.spread()][2:] == ([last] if last else [])
    assert find_references(parse(f"# § 5. See {text}.\n\n```\n{text}\n```\n")) == []


def test_a_law_that_is_here_is_not_another():
    acts = {
        "boats.md": parse("# Boating Act 2019\n\n## Section 3. Lights\n\nRed.\n"),
        "a.md": parse("# A\n\n## Section 3\n\nSee section 3 of the Boating Act, as amended.\n"),
    }
    (found,) = find_references(acts["a.md"])
    place = Targets(acts).find(found, "a.md")
    assert (found.law, place and place.doc_id) == ("Boating Act", "boats.md")
    assert Targets({"a.md": acts["a.md"]}).find(found, "a.md") is None


def test_the_text_of_a_link_is_of_its_document():
    documents = {
        "a.md": parse("# A\n\n## Section 5\n\nSee [Section 5](b.md#section-5) and Section 5.\n"),
        "b.md": parse("# B\n\n## Section 5\n\nText.\n"),
    }
    places = [Targets(documents).find(one, "a.md") for one in find_references(documents["a.md"])]
    assert [place and place.doc_id for place in places] == ["b.md", "a.md"]


DOCUMENTS = {
    "law/fees.md": parse(
        "# Title 2. Fees.\n\n## § 4.2 Amounts\n\n(a) One.\n\n(b) Two.\n\n## Chapter 5\n\nx\n"
    ),
    "law/ships.md": parse("# Title 3. Ships.\n\n## § 9 Hulls\n\nText.\n\n## Chapter 5\n\nx\n"),
    "guide.md": parse("# Guide\n\n## 1.1 Tickets\n\nx\n"),
    "other.md": parse("# Other\n\n## 1.1 Dogs\n\nx\n"),
}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("§ 4.2(b)", ("law/fees.md", "sec_4_2_b")),
        ("§ 4.2(z)", ("law/fees.md", "sec_4_2")),
        ("§ 4.3", None),
        ("§ 1.1", None),  # in two documents
        ("§ 1.1 of the [[guide]]", ("guide.md", "sec_1_1")),
        ("section 1.1 of [the other](./other.md)", ("other.md", "sec_1_1")),
        ("§ 9 of the [[ships|Act]]", ("law/ships.md", "sec_9")),
        ("Chapter 5", None),
        ("Chapter 5 of Title 3", ("law/ships.md", "chapter_5")),
        ("26 U.S.C. § 9", None),
    ],
)
def test_where_targets_stand(text, place):
    structure = parse(text)
    (reference,) = find_references(structure)
    found = Targets({**DOCUMENTS, "here.md": structure}).find(reference, "here.md")
    assert (found and (found.doc_id, found.id)) == place
    # The own document comes first.
    structure = parse("# 1.1 Mine\n\nSee section 1.1.\n")
    (reference,) = find_references(structure)
    found = Targets({**DOCUMENTS, "here.md": structure}).find(reference, "here.md")
    assert structure.text[found.start : found.end] == structure.text
