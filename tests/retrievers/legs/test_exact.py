"""The exact leg finds what a query names, first what begins there, and nothing else."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.statute import HANDBOOK, LAW, make_corpus

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.structure.structure import parse_document
from assay.retrievers.legs.lookups.exact import ExactLeg

DASHES = "-‐‑‒–—−－"
CORPUS = make_corpus(LAW, HANDBOOK)


def make_leg(corpus=CORPUS):
    leg = ExactLeg()
    leg.index(corpus)
    return leg


LEG = make_leg()


def find(query, leg=LEG, corpus=CORPUS):
    return [corpus.chunks[position] for position, _ in leg.search(query, 100).candidates]


def starts(query):
    """Return the first words of the first chunk that is found."""
    found = find(query)
    return " ".join(found[0].text.split()[:4]) if found else ""


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Section 7-202(b)", "(b) The harbour master"),
        ("§ 7–202(a)(2)(A)", "(A) The storm was"),
        ("what does sec. 7 - 202 (a)(2)( a ) say?", "(A) The storm was"),
        ("7-202(a-1)", "(a-1) Late dues are"),
        ("7-202.01", "### § 7–202.01. Moorings."),
        ("Section 7.202(b)", "(b) The harbour master"),
        ("7-202b", "(b) The harbour master"),
        ("subsection (b) of section 7-202", "(b) The harbour master"),
        ("section 7-202, subsection (a), paragraph 2, subparagraph (A)", "(A) The storm was"),
        ("sec_7_202_b", "(b) The harbour master"),
        ("Chapter 3", "## Chapter 3. Crews."),
        ("ch. 3, title 7", "## Chapter 3. Crews."),
        ("4.2 Refunds", "## 4.2 Refunds Refunds"),
        ("4.2", "## 4.2 Refunds Refunds"),
        ("section 4.2", "## 4.2 Refunds Refunds"),
        ("section 19", "## 19. Lights Lights"),
        ("19. Lights", "## 19. Lights Lights"),
        ("part 4", "## Part IV What"),
        ("part iv", "## Part IV What"),
        ("what is in Schedule A", "## Schedule A The"),
    ],
)
def test_what_begins_there_is_first(query, first):
    assert starts(query).startswith(first)


@pytest.mark.parametrize(
    "query",
    [
        "what happened in 2024",
        "2024",
        "fares went up 3.5 %",
        "an increase of 3.5 points",
        "version 2.1",
        "since version 2.1 the light is red",
        "2.1 million boats",
        "19 boats",
        "4.2 what about refunds",
        "the dues of 7 to 202 boats",
        "7-2020",
        "call 7-202-1234",
        "202(a)(2)",
        "7.202 metres",
        "how do I schedule a boat",
        "refunds for crews",
        "Section 99-1",
        "",
    ],
)
def test_ordinary_queries_find_nothing(query):
    assert find(query) == []


def test_the_rest_of_the_section_follows_in_its_order():
    found = find("§ 7-202(b)")
    assert found[0].anchors == ("sec_7_202_b",)
    rest = [chunk.start for chunk in found[1:]]
    assert rest == sorted(rest)
    assert {chunk.section_id for chunk in found} == {"sec_7_202"}
    assert {chunk.id for chunk in found} == {
        chunk.id for chunk in CORPUS.chunks if chunk.section_id == "sec_7_202"
    }
    assert find("sec_7_202_b") == found
    assert find("sec_7_202_01") == find("§ 7-202.01")
    scores = [score for _, score in LEG.search("§ 7-202", 100).candidates]
    assert scores == sorted(set(scores), reverse=True)
    assert LEG.search("§ 7-202", 2).candidates == LEG.search("§ 7-202", 100).candidates[:2]
    # An unknown label gives the nearest above.
    assert starts("§ 7-202(a)(2)(Z)(i)") == starts("§ 7-202(a)(2)")
    assert starts("§ 7-202(z)") == starts("§ 7-202")
    # Several sections are all found before what is around them.
    first, second, *_ = find("sections 7-202(b) and 7-301")
    assert ("sec_7_202_b" in first.anchors, "sec_7_301" in second.anchors) == (True, True)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("see § 7–202(b)", "sec_7_202_b by § 7–202(b)"),
        ("§ 7-202(z)", "sec_7_202 above § 7-202(z)"),
        ("Refunds", "the heading of 1 section"),
        ("refunds of fares", ""),
    ],
)
def test_the_note_says_what_was_found_by_what(query, note):
    assert LEG.search(query, 5).note == note


MANUAL = "# Manual\n\nFirst of all.\n\n## More\n\nAnd then some more of this.\n"
BOATS = {f"{name}.md": (MANUAL, f"Boat {name}") for name in "ab"}
DUES = "# § 203. Dues\n\n(a) Nobody pays:\n\n1. in storms;\n2. at sea.\n"
CLOCKS = "# Manual\n\n## 4.2 Clocks\n\nSet the clock.\n"
NOTES = {f"{n}.md": f"# {n}\n\n## Notes\n\nNote {n}.\n" for n in range(6)}


@pytest.mark.parametrize(
    ("documents", "query", "found"),
    [
        # A range names both its ends.
        ({"law.md": "# § 801. One\n\nFirst.\n\n# § 804. Four\n\nFourth.\n"},
         "sections 801–804", [("law.md", "sec_801"), ("law.md", "sec_804")]),
        # A whole heading is surer than its number.
        ({"a.md": CLOCKS, "b.md": "## 4.2 Refunds\n\nTen days.\n"}, "4.2 Refunds",
         [("b.md", "sec_4_2")]),
        ({"a.md": CLOCKS, "b.md": "## 4.2 Refunds\n\nTen days.\n"}, "4.2 Clocks",
         [("a.md", "sec_4_2")]),
        # A title that heads nothing finds where its document begins.
        (BOATS, "boat b", [("b.md", "manual")]),
        ({"c.md": MANUAL}, "", []),
        # A bare number may mean the paragraph above, and no section.
        ({"law.md": DUES}, "203(a)(1)", [("law.md", "sec_203")]),
        ({"law.md": DUES}, "203(b)(1)", []),
        # A heading of many sections names none.
        (dict([*NOTES.items()][:5]), "notes", [(f"{n}.md", "notes") for n in range(5)]),
        (NOTES, "notes", []),
    ],
)  # fmt: skip
def test_what_documents_of_their_own_have(documents, query, found):
    texts = {
        id_: text if isinstance(text, tuple) else (text, "") for id_, text in documents.items()
    }
    corpus = make_corpus(
        *(Document(id_, text, title=title) for id_, (text, title) in texts.items())
    )
    first = find(query, make_leg(corpus), corpus)[: len(found) or None]
    assert sorted((chunk.doc_id, chunk.section_id) for chunk in first) == found


def test_an_id_in_two_documents_finds_both_unless_a_division_tells_them_apart():
    text = "# Title {}\n\n## Chapter 5. Things\n\n### § 1. One\n\nText {}.\n"
    documents = [Document(f"{n}.md", text.format(n, n)) for n in (2, 1)]
    corpus = make_corpus(*documents)
    leg = make_leg(corpus)

    def named(query):
        return [chunk.doc_id for chunk in find(query, leg, corpus)]

    assert named("§ 1") == ["1.md", "2.md"]
    assert named("§ 1 of title 2") == ["2.md"]
    assert named("title 2, chapter 5") == ["2.md"]
    assert named("chapter 5") == ["1.md", "2.md"]


REGULATION = Document(
    "x.md",
    "# Regulation X\n\n## Section 1. Old\n\nNothing.\n\n## Section 4. Older\n\nNothing.\n\n"
    "## Article 6. Basis\n\n(1) It is lawful.\n\n(2) States decide.\n\n"
    "## Schedule 2\n\n### Paragraph 4\n\nBerths are free.\n\n## Schedule 3\n\nNothing.\n",
)


@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ("Art. 6 para. 1", "article_6_1"),
        ("what does Article 6, paragraph 2 say", "article_6_2"),
        ("paragraph 2 of Article 6", "article_6_2"),
        ("Art. 6 para. 4", "article_6"),  # which has none
        ("Schedule 2, paragraph 4", "sec_4"),  # a section of its own
        ("paragraph 4 of Schedule 2", "sec_4"),
        ("Schedule 3, paragraph 4", "schedule_3"),
        ("Article 8, paragraph 4", ""),
    ],
)
def test_a_paragraph_is_that_of_its_division(query, begins):
    """And no section of that number elsewhere."""
    corpus = make_corpus(REGULATION)
    found = find(query, make_leg(corpus), corpus)
    assert [begins in chunk.anchors for chunk in found[:1]] == [True] * bool(begins)
    assert not any("Nothing" in chunk.text for chunk in found if begins != "schedule_3")


def test_in_an_overlap_the_chunk_that_goes_on_with_the_section_is_first():
    document = Document("d.md", "# § 1. A\n\none two three\n\n# § 2. B\n\nfour five six seven\n")
    spans = [(0, 36), (24, len(document.text))]
    both = [
        Chunk(f"{9 - n}", "d.md", *span, document.text[slice(*span)], anchors=anchors)
        for n, (span, anchors) in enumerate(
            zip(spans, (("sec_1", "sec_2"), ("sec_2",)), strict=True)
        )
    ]
    corpus = Corpus(both, [document])
    assert [chunk.start for chunk in find("§ 2", make_leg(corpus), corpus)] == [24, 0]
    # A heading that is cut from its section does not speak for it.
    text = "# One\n\nThe first section says this.\n\n# Two\n\nThe second says something else.\n"
    cut = text.index("The second")
    spans = ((9, 0, cut), (8, cut, len(text)))
    halves = [Chunk(str(id_), "d.md", *span, text[slice(*span)]) for id_, *span in spans]
    corpus = Corpus(halves, [Document("d.md", text)])
    assert [chunk.id for chunk in find("Two", make_leg(corpus), corpus)] == ["8", "9"]


def test_prescribed_passages_are_known_by_their_titles_and_headings():
    chunks = [
        Chunk("p3", "a", 0, 9, "(a) First.\n\n(b) Second.", title="§ 7–9. Ropes"),
        Chunk("p2", "b", 0, 9, "## 4.2 Refunds\n\nTen days."),
        Chunk("p1", "c", 0, 9, "No section, though § 7-9(b) is mentioned.", title="Knots"),
    ]
    corpus = Corpus(chunks, ())
    leg = make_leg(corpus)
    assert [chunk.id for chunk in find("7-9(b)", leg, corpus)] == ["p3"]
    assert [chunk.id for chunk in find("4.2 Refunds", leg, corpus)] == ["p2"]
    assert find("Knots", leg, corpus) == []


def places():
    structure = parse_document(LAW)
    for paragraph in structure.paragraphs:
        section = structure.section_at(paragraph.start)
        yield section.title.split("–")[1].split(". ")[0], paragraph.labels, paragraph.id
    for section in structure.sections:
        if section.id.startswith("sec_"):
            yield section.title.split("–")[1].split(". ")[0], (), section.id


@given(
    st.sampled_from(sorted(places())),
    st.sampled_from(DASHES),
    st.sampled_from(DASHES),
    st.sampled_from(["§", "§ ", "§§ ", "Section ", "sections  ", "sec. ", "Sec.", "s. ", "SECT. "]),
    st.sampled_from(["", " ", "\u00a0"]),
    st.booleans(),
    st.sampled_from(["{}", "what does {} say?", "D.C. Code {}", "({})", "see {}, please"]),
)
def test_every_spelling_finds_it(place, dash, label_dash, sign, space, upper, frame):
    number, labels, id_ = place
    spelled = f"{sign}7{space}{dash}{space}{number}"
    spelled += "".join(f"{space}({label.replace('-', label_dash)})" for label in labels)
    found = find(frame.format(spelled.upper() if upper else spelled))
    assert id_ in found[0].anchors


@given(st.sampled_from(sorted(places())), st.sampled_from(DASHES), st.sampled_from(["", " "]))
def test_a_bare_id_finds_it(place, dash, space):
    number, labels, id_ = place
    bare = f"7{dash}{number}{space}{space.join(f'({label})' for label in labels)}"
    assert id_ in find(bare)[0].anchors
    assert id_ in find(f"please read {bare}.")[0].anchors


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ('"no fare at all"', 1),
        ("“No   Fare\nat ALL”", 1),
        ("«no fare at all»", 1),
        ('where is "no fare at all," please', 1),
        ('"master’s own"', 1),
        ('"fare at a"', 0),
        ('"ares"', 0),
        ('"harbour master"', 2),
        ('"harbour master" "in distress"', 2),
        ("no fare at all", 0),
        ('5" pipes and 6" hoses', 0),
        ('"?!"', 0),
        ('""', 0),
        ('"unheard of"', 0),
    ],
)
def test_quoted_phrases_stand_literally(query, count):
    assert len(find(query)) == count
    unspaced = Corpus([Chunk("1", "d", 0, 6, "東京都の港、船。")], ())
    assert find("“京都の”", make_leg(unspaced), unspaced)


def test_more_phrases_come_first_then_the_earliest_then_the_shortest():
    texts = ["salt and pepper, long", "salt and pepper", "a salt and pepper", "pepper; salt and"]
    corpus = Corpus([Chunk(f"{9 - n}", "d", n, n + 9, text) for n, text in enumerate(texts)], ())
    leg = make_leg(corpus)
    order = [9 - int(chunk.id) for chunk in find('"salt and" "pepper, long"', leg, corpus)]
    assert order == [0, 1, 2, 3]
    assert [9 - int(chunk.id) for chunk in find('"salt and"', leg, corpus)] == [1, 0, 2, 3]


def test_phrases_follow_the_legs_before():
    corpus = Corpus([Chunk(str(9 - n), "d", n, n + 4, "salt") for n in range(4)], ())
    found = {"dense": [(2, 0.9), (7, 0.5), (1, 0.4)]}
    result = make_leg(corpus).follow('"salt"', 10, found)
    assert [position for position, _ in result.candidates] == [2, 1, 0, 3]


@pytest.mark.parametrize(
    "query", ["4.2 Refunds", "Refunds", "  refunds ", "REFUNDS?", "“Refunds”", "4.2. refunds"]
)
def test_a_heading_as_a_whole_finds_its_section(query):
    assert starts(query) == "## 4.2 Refunds Refunds"


CODE = make_corpus(
    Document("a.md", "# A\n\nIn prose getAuthToken stands without marks.\n"),
    Document("b.md", "# B\n\nHere is `client.getAuthToken()` and max_retries.\n"),
    Document("c.md", "# C\n\nNeither getAuthTokens nor max_retries_limit, nor GV-2001.\n"),
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("getAuthToken", {"a.md", "b.md"}),
        ("`getAuthToken()`", {"a.md", "b.md"}),
        ("max_retries", {"b.md"}),
        ("client.getAuthToken", {"b.md"}),
        ("GV-2001", {"c.md"}),
        ("GV-200", set()),
        ("what does getAuthToken return", set()),
        ("prose", set()),
        ("on-call", set()),
    ],
)
def test_a_name_alone_is_found_whole_wherever_it_stands(query, found):
    assert {chunk.doc_id for chunk in find(query, make_leg(CODE), CODE)} == found


@pytest.mark.parametrize("query", ["uS", "`uS`", '"uS"'])
def test_a_name_in_its_own_case_comes_before_others(query):
    corpus = make_corpus(
        Document("a.md", "# A\n\nWrite to us. All of us.\n"),
        Document("b.md", "# B\n\nConductivity is given in uS.\n"),
        Document("c.md", "# C\n\nTell us.\n"),
    )
    leg = make_leg(corpus)
    before = {
        "dense": [(i, 1.0) for i, chunk in enumerate(corpus.chunks) if chunk.doc_id != "b.md"]
    }
    candidates = leg.follow(query, 10, before).candidates
    assert next(corpus.chunks[i].doc_id for i, _ in candidates) == "b.md"
    assert len(candidates) == 3


def count_calls(leg, query):
    """Return how many functions a search calls, which no load of the machine changes."""
    calls = 0

    def see(*_):
        nonlocal calls
        calls += 1

    sys.setprofile(see)
    try:
        leg.search(query, 100)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "query",
    ["§ 7-202(a)(1)(17)", "what is the harbour master to do in 2024", '"unheard of"'],
)
def test_a_search_costs_no_more_in_ten_thousand_chunks(query):
    copies = [
        Chunk(f"{n:05}-{chunk.id}", f"{n}/{chunk.doc_id}", chunk.start, chunk.end, chunk.text,
              headings=chunk.headings, section_id=f"{chunk.section_id}_{n}",
              anchors=tuple(f"{anchor}_{n}" for anchor in chunk.anchors))
        for n in range(10_000 // len(CORPUS.chunks))
        for chunk in CORPUS.chunks
    ]  # fmt: skip
    large = make_leg(Corpus(sorted(copies, key=lambda chunk: chunk.id, reverse=True)))
    for leg in (large, LEG):
        leg.search(query, 100)  # the first one makes what it looks up in
    assert count_calls(large, query) < 1.5 * count_calls(LEG, query)
