"""Sections and numbered paragraphs as look-ups: places by hand, and what cannot be told."""

import pytest

from assay.eval.collections.authoring.known_item_queries import derive
from assay.eval.collections.authoring.provisions import read_paragraphs, read_sections
from assay.eval.collections.formats.native import make_document
from assay.retrievers.base import Document

ACT = """# Act

## § 4–1.02. Dues.

(a) Dues are paid by the day:

  (1) on holidays not at all;

  (2) in storms by half.

    (A) A storm is what the office says.

(a-1) Late dues are doubled.

## Section 5

(a) Nobody pays—

1. in January;
2. on board.

(b) All others pay.

## 6. Notes

(a) No section of a statute.
"""


def document(text: str, name: str = "act.md") -> Document:
    return make_document(name, text)


def tell(found: Document) -> dict[str, str]:
    """Return the text of each paragraph by its number and labels."""
    return {
        f"{item.number}{''.join(f'({label})' for label in item.labels)}": found.text[
            item.place.start : item.place.end
        ]
        for item in read_paragraphs(found)
    }


def test_sections_are_those_with_a_sign() -> None:
    found = document(ACT)
    sections = {item.number: item.place for item in read_sections(found)}
    assert list(sections) == ["4-1.02", "5"]
    assert found.text[sections["5"].start : sections["5"].end].endswith("(b) All others pay.")


def test_paragraphs_stand_under_what_is_indented_less() -> None:
    found = tell(document(ACT))
    assert list(found) == [
        "4-1.02(a)", "4-1.02(a)(1)", "4-1.02(a)(2)", "4-1.02(a)(2)(A)", "4-1.02(a-1)",
        "5(a)", "5(a)(1)", "5(a)(2)", "5(b)",
    ]  # fmt: skip
    assert found["4-1.02(a)"].endswith("what the office says.")
    assert found["4-1.02(a)(1)"] == "(1) on holidays not at all;"
    assert found["4-1.02(a-1)"] == "(a-1) Late dues are doubled."
    assert found["5(a)(2)"] == "2. on board."


@pytest.mark.parametrize(
    "body",
    [
        "(a) One\n\n(1) flat, so that what it stands under cannot be told\n\n(b) Two",
        "(a) One\n\n(a) again",
        "(c) not the first",
        "(a)(1) two labels at once\n\n(2) and what now?",
        "1. a list under nothing\n2. and its end",
    ],
)
def test_what_cannot_be_told_is_left_out(body: str) -> None:
    assert tell(document(f"# § 7. Title\n\n{body}\n")) == {}


def test_each_is_asked_once_in_spellings_by_turns() -> None:
    documents = {"act.md": document(ACT), "note.txt": document(ACT, "note.txt")}
    found = derive(documents, {}, ["section", "paragraph"])
    assert [lookup.text for lookup in found.lookups][:4] == [
        "§ 4-1.02", "Section 5", "§ 4-1.02(a)", "Section 4-1.02(a)(1)",
    ]  # fmt: skip
    assert found.ambiguous == {}


def test_a_number_of_two_acts_is_ambiguous_but_not_of_a_copy() -> None:
    documents = {name: document(ACT, name) for name in ("act.md", "copy.md")}
    assert derive(documents, {}, ["section"]).ambiguous == {"section": 2}
    found = derive(documents, {"copy.md": "act.md"}, ["section"]).lookups
    assert [len(lookup.places) for lookup in found] == [2, 2]


def test_a_number_that_several_documents_have_is_asked_with_the_title() -> None:
    text = "# {}\n\n{}\n\n## 4. Money\n\nText.\n\n### 4.1 Late\n\nMore.\n\n## {} End\n\nLast.\n"
    documents = {
        "a.md": document(text.format("Dues", "Dues", "5."), "a.md"),
        "b.md": document(text.format("Fares", "Fares", "6."), "b.md"),
        "copy.md": document(text.format("Dues", "Dues", "5."), "copy.md"),
    }
    found = derive(documents, {"copy.md": "a.md"}, ["titled_section"])
    assert {lookup.text: [place.doc_id for place in lookup.places] for lookup in found.lookups} == {
        "section 4 of the Dues": ["a.md", "copy.md"],
        "section 4 of the Fares": ["b.md"],
        "section 4.1 of the Dues": ["a.md", "copy.md"],
        "section 4.1 of the Fares": ["b.md"],
    }
    place = found.lookups[0].places[0]
    assert documents["a.md"].text[place.start : place.end].startswith("## 4. Money")


def test_bare_numbers_are_asked_for_where_they_count_from_1() -> None:
    text = "# {}\n\n## 1 Money\n\nText.\n\n## {} Late\n\nMore.\n"
    documents = {
        "a.md": document(text.format("Dues", 2), "a.md"),
        "b.md": document(text.format("Fares", 2), "b.md"),
        "c.md": document(text.format("Years", 1999), "c.md"),
    }
    found = derive(documents, {}, ["titled_section"]).lookups
    assert [lookup.text for lookup in found] == [
        "section 1 of the Dues", "section 1 of the Fares",
        "section 2 of the Dues", "section 2 of the Fares",
    ]  # fmt: skip


def test_a_number_in_documents_of_one_title_is_ambiguous() -> None:
    documents = {
        name: document("# Dues\n\n## 4. Money\n\nText.\n", name) for name in ("a.md", "b.md")
    }
    found = derive(documents, {}, ["titled_section"])
    assert (found.lookups, found.ambiguous) == ((), {"titled_section": 2})
