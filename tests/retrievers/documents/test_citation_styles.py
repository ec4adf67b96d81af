"""Every form of `jurisdictions.yaml` as a heading, in a query, in a text, and in plain text."""

import pytest

from assay.retrievers.documents.references.query_citations import read_mentions
from assay.retrievers.documents.references.references import find_references
from assay.retrievers.documents.structure.citation_styles import FORMS
from assay.retrievers.documents.structure.identifiers import identify
from assay.retrievers.documents.structure.structure import parse

EXAMPLES = [example for form in FORMS.forms for example in form.examples.items()]
OWN = [item for form in FORMS.forms if not form.common for item in form.examples.items()]
COMMON = [item for form in FORMS.forms if form.common for item in form.examples.items()]
OTHERS = [text for form in FORMS.forms for text in form.others]


@pytest.mark.parametrize(("text", "id_"), EXAMPLES)
def test_a_heading_has_the_id_and_a_query_names_it(text, id_):
    assert identify(f"{text}. Of ships") == id_
    assert [mention.ids[0] for mention in read_mentions(f"what does {text} say?")] == [id_]


@pytest.mark.parametrize(("text", "id_"), OWN)
def test_a_text_refers_to_it_and_a_line_of_plain_text_opens_it(text, id_):
    cited = text[0].upper() + text[1:]
    assert [found.target for found in find_references(parse(f"As {cited} says."))] == [id_]
    plain = parse(f"Before.\n\n{text.split('(')[0]} Of ships\nShips float.\n", plain=True)
    last = plain.sections[-1]
    assert id_.startswith(last.id)
    assert plain.text[last.body : last.end] == "Ships float.\n"


@pytest.mark.parametrize(("text", "id_"), COMMON)
def test_a_common_word_refers_to_what_the_document_has(text, id_):
    assert find_references(parse(f"As {text} says.")) == []
    references = find_references(parse(f"## {text}. Of ships\n\nAs {text} says.\n"))
    assert [found.target for found in references] == [id_]
    assert len(parse(f"Before.\n\n{text} Of ships\nShips float.\n", plain=True).sections) == 1


@pytest.mark.parametrize("text", OTHERS)
def test_what_names_nothing(text):
    assert read_mentions(text) == []
    assert find_references(parse(f"So {text} it is.")) == []
    assert parse(f"{text}\nit is.\n", plain=True).sections[0].title == ""


def test_codes_are_other_bodies_of_law_and_suffixes_part_of_a_number():
    for code in FORMS.codes:
        (found,) = find_references(parse(f"under 42 {code} § 1437"))
        assert found.external
    for suffix in FORMS.suffixes:
        for text in (f"Article 14{suffix}", f"Article 14 {suffix}"):
            id_ = f"article_14{suffix}"
            assert identify(f"{text} Fees") == id_
            assert [mention.ids[0] for mention in read_mentions(text)] == [id_]
            assert [found.target for found in find_references(parse(text))] == [id_]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("§§ 4–6", ["sec_4", "sec_5", "sec_6"]),
        ("sections 4–6", ["sec_4", "sec_5", "sec_6"]),
        ("sections 4 to 6", ["sec_4", "sec_5", "sec_6"]),
        ("§ 12 to § 15", ["sec_12", "sec_13", "sec_14", "sec_15"]),
        ("§§ 42-516 through 42-518", ["sec_42_516", "sec_42_517", "sec_42_518"]),
        ("§§ 2.05 through 2.07", ["sec_2_05", "sec_2_06", "sec_2_07"]),
        ("Articles 4–6", ["article_4", "article_5", "article_6"]),
        ("Article 4 to Article 6", ["article_4", "article_5", "article_6"]),
        ("Titles II to IV", ["title_ii", "title_iii", "title_iv"]),
        ("section 5 to the extent", ["sec_5"]),
        ("section 5 to 10 days", ["sec_5"]),
        ("§§ 42-516 and 42-518", ["sec_42_516", "sec_42_518"]),
    ],
)
def test_a_range_is_all_from_end_to_end(text, ids):
    found = find_references(parse(f"as in {text} here"))
    assert [one.target for item in found for one in item.spread()] == ids
    readings = [list(mention.readings()) for mention in read_mentions(text)]
    meant = (next(one for one in reading if one[0].ids[0] in ids) for reading in readings)
    assert [one.ids[0] for reading in meant for one in reading] == ids


def test_each_word_is_of_one_form():
    words = [word for form in FORMS.forms for word in (form.word, *form.short)]
    assert len(words) == len(set(words))
    assert {form.kind for form in FORMS.forms} == {"section", "division"}
    assert all(word.isascii() and word.islower() for word in words)
