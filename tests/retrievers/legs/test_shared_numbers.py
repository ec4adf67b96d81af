"""A number that several documents give to a section: the document that the query names is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.statute import make_corpus

from assay.retrievers.base import Document
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.legs.lookups.exact import ExactLeg

TITLES = {
    "a/manual-one.md": "LT-8 gateway manual",
    "b/manual-two.md": "LT-8 gateway manual for roofs",
    "c/privacy.md": "Data protection policy",
    "d/travel.md": "Expenses and travel",
}
BODY = """# {title}

## 4. {heading}

What stands here is of {title} and about {heading}, and nothing else at all.

### 4.1 {heading} at sea

Boats have rules of their own, of which those of {title} are the strictest.
"""
HEADINGS = ("Wiring", "Mounting", "Retention", "Hotels")


def write(id_, title, heading):
    return Document(id_, BODY.format(title=title, heading=heading), title)


DOCUMENTS = [
    *(write(*item, heading) for item, heading in zip(TITLES.items(), HEADINGS, strict=True)),
    Document(
        "e/rules.md", "# Harbour rules\n\nWho may berth is said at the quay.\n", "Harbour rules"
    ),
]
CORPUS = make_corpus(*DOCUMENTS)


def make_leg(corpus=CORPUS):
    leg = ExactLeg()
    leg.index(corpus)
    return leg


LEG = make_leg()


def find(query, ranked=()):
    """Return the documents of the chunks that a boost lifts, and of those that it leaves."""
    result = LEG.follow(query, 100, {"dense": [(i, 1.0) for i in ranked]})
    doubtful = [i in result.unboosted for i, _ in result.candidates]
    assert doubtful == sorted(doubtful)  # what is certain comes first
    assert result.unboosted <= {i for i, _ in result.candidates}
    found = [(CORPUS.chunks[i].doc_id, i in result.unboosted) for i, _ in result.candidates]
    certain, left = ([doc for doc, out in found if out is which] for which in (False, True))
    return list(dict.fromkeys(certain)), list(dict.fromkeys(left))


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("Section 4 of the data protection policy", "c/privacy.md"),
        ("what does § 4 of the policies on data protection say", "c/privacy.md"),
        ("section 4.1, expenses & travel", "d/travel.md"),
        ("section 4 of the LT-8 gateway manual", "a/manual-one.md"),
        ("section 4 of the LT-8 gateway manual for roofs", "b/manual-two.md"),
        ("privacy.md section 4", "c/privacy.md"),
        ("section 4 on hotels", "d/travel.md"),
        ("the retention of section 4", "c/privacy.md"),
    ],
)
def test_the_document_that_is_named_is_meant(query, document):
    certain, left = find(query)
    assert certain == [document]
    assert sorted(left) == sorted(TITLES.keys() - {document})


@pytest.mark.parametrize(
    "query",
    [
        "section 4",
        "what is in section 4?",
        "section 4 of the gateway",  # two manuals are, and one has the longer title
        "section 4 of the harbour rules",  # which have no section 4
    ],
)
def test_what_stays_ambiguous_is_not_lifted_and_follows_the_legs_before(query):
    last = [i for i, chunk in enumerate(CORPUS.chunks) if chunk.doc_id == "d/travel.md"]
    certain, left = find(query, last)
    assert certain == []
    assert set(left) == set(TITLES)
    if query != "section 4 of the gateway":
        assert left[0] == "d/travel.md"


@given(st.sampled_from(sorted(TITLES)), st.sampled_from(["4", "4.1"]), st.booleans(), st.data())
def test_any_title_tells_its_section_from_the_others(id_, number, upper, data):
    frame = data.draw(st.sampled_from(["section {} of the {}", "§ {}, {}", "sec. {} {}"]))
    query = frame.format(number, TITLES[id_])
    ranked = data.draw(st.permutations(range(len(CORPUS.chunks))))
    result = LEG.follow(
        query.upper() if upper else query, 100, {"dense": [(i, 1.0) for i in ranked]}
    )
    first = CORPUS.chunks[result.candidates[0][0]]
    assert first.doc_id == id_
    assert f"sec_{number.replace('.', '_')}" in first.anchors
    assert find(query, ranked)[0] == [id_]


def test_copies_of_one_text_are_no_doubt():
    copy = Document("z/privacy-archive.md", DOCUMENTS[2].text, DOCUMENTS[2].title)
    corpus = make_corpus(*DOCUMENTS, copy)
    result = make_leg(corpus).search("section 4 of the data protection policy", 100)
    certain = [corpus.chunks[i].doc_id for i, _ in result.candidates if i not in result.unboosted]
    assert set(certain) == {"c/privacy.md", "z/privacy-archive.md"}
    # A number of one document needs no name.
    leg = make_leg(make_corpus(*DOCUMENTS[2:3]))
    assert leg.search("section 4 of the harbour rules", 9).unboosted == frozenset()
    assert LEG.search("section 4", 9).note == "sec_4 by section 4 in several documents"


def test_a_range_within_a_document_leaves_out_what_others_have_between():
    tax = Document("tax.md", "# Tax code\n\n## § 3. Rates\n\nTen.\n\n## § 5. Dues\n\nTwo.\n")
    port = Document("port.md", "# Port code\n\n## § 4. Quays\n\nSix.\n\n## § 6. Ends\n\nOne.\n")
    fees = Document("fees.md", "# Fees\n\n## § 7. A\n\nB.\n\n## § 8. C\n\nD.\n\n## § 9. E\n\nF.\n")
    fines = Document("fines.md", "# Fines\n\n## § 8. G\n\nH.\n")
    corpus = make_corpus(tax, port, fees, fines)
    for query, documents in {
        "ss. 3-5 of the tax code": {"tax.md"},
        "§§ 3 through 6": {"tax.md", "port.md"},  # the ends are of two
        "§ 4": {"port.md"},
        "§§ 7 through 9": {"fees.md", "fines.md"},  # both have the one between
    }.items():
        found = make_leg(corpus).search(query, 100).candidates
        assert {corpus.chunks[i].doc_id for i, _ in found} == documents


def test_fusion_lifts_only_what_is_certain():
    fusion = RrfSettings(boosts={"exact": 10})
    legs = {"dense": [(1, 0.9), (2, 0.8), (3, 0.7)], "exact": [(3, 1.0), (2, 0.5)]}
    assert [i for i, _ in fusion.fuse(legs)] == [3, 2, 1]
    assert [i for i, _ in fusion.fuse(legs, unboosted={"exact": {2}})] == [3, 2, 1]
    left = dict(fusion.fuse(legs, unboosted={"exact": {2, 3}}))
    assert left == dict(RrfSettings().fuse(legs))
