"""Who asks for a term finds its definition; who merely uses it does not."""

import pytest
from samples.statute import GLOSSARY, HANDBOOK, LAW, make_corpus

from assay.retrievers.base import Chunk, Document, Hit
from assay.retrievers.corpus.glossary import read_words
from assay.retrievers.legs.definitions import DefinitionsLeg
from assay.retrievers.stages.definitions import Definitions

LISTED = """# Part {}

## Definitions

“Berth” means a place, {}.

## Late fees

For this section, the term “berth” means a bed, {}.
"""
SCOPED = [Document(f"{n}.md", LISTED.format(f"{n}. {name}", n, n))
          for n, name in ((1, "Harbours"), (2, "Night trains"))]  # fmt: skip


def make_leg(corpus, resources):
    leg = DefinitionsLeg(resources)
    leg.index(corpus)
    return leg


def find(query, corpus, resources):
    found = make_leg(corpus, resources).search(query, 20).candidates
    return [corpus.chunks[position] for position, _ in found]


@pytest.mark.parametrize(
    "query",
    [
        "What does 'harbour master' mean?",
        "what does the term “Harbour Masters” mean in Harbours",
        "what is meant by harbour master",
        "define harbour master",
        "Please define the term “harbour master”.",
        "definition of harbour master",
        "definition of a harbour master under chapter 2",
        "what's the meaning of harbour master?",
        'How is "harbour master" defined for purposes of Harbours?',
        "how does the law define harbour master",
        "harbour master definition",
        "what is a harbour master?",
        "Who is the harbour master",
        "harbour master",
        "HARBOUR-MASTER",
        "the harbour master's",
    ],
)
def test_questions_for_a_term(query, resources):
    (chunk,) = find(query, make_corpus(LAW, HANDBOOK), resources)
    assert "“Harbour master” means" in chunk.text


@pytest.mark.parametrize(
    "query",
    [
        "how do I find the harbour master",
        "what does the harbour master do",
        "what is the harbour master in charge of",
        "what is the harbour master's telephone number",
        "harbour master waives dues",
        "definition of harbour master's dues",
        "what does a berth cost",
        "what does a berth master mean",
        "what does the harbour master mean by distress",
        "berth prices",
        "define mooring",
        "",
        "the",
        "?",
        "harbour master in " * 400,
    ],
)
def test_other_queries_find_nothing(query, resources):
    assert find(query, make_corpus(LAW, HANDBOOK), resources) == []


def test_the_context_that_a_query_names_comes_first(resources):
    corpus = make_corpus(*SCOPED)

    def places(query):
        return [(chunk.doc_id, "a place" in chunk.text) for chunk in find(query, corpus, resources)]

    every = [("1.md", True), ("2.md", True), ("1.md", False), ("2.md", False)]
    other = [("2.md", True), ("2.md", False), ("1.md", True), ("1.md", False)]
    assert places("berth") == every
    assert places("What does berth mean in Night Trains?") == other
    assert places("definition of berth under part 2") == other
    assert places("what is a berth for purposes of night trains") == other
    assert places("what is a berth for sleeping") == []
    assert places("define berth for sleepers") == every
    assert places("berth under late fees")[0] == ("1.md", False)


def test_equal_definitions_follow_the_legs_before(resources):
    corpus = make_corpus(*SCOPED)
    leg = make_leg(corpus, resources)
    before = [position for position, _ in leg.search("berth", 9).candidates]
    found = {"dense": [(position, 0.5) for position in reversed(before)]}
    after = [position for position, _ in leg.follow("berth", 9, found).candidates]
    assert after == [before[1], before[0], before[3], before[2]]
    assert leg.follow("berth", 1, found).candidates[0][0] == before[1]
    assert leg.search("berth", 9).note == "4 definitions of “berth”"


def test_definitions_are_read_once_for_the_same_text(resources):
    corpus = make_corpus(LAW)
    assert DefinitionsLeg(resources).index(corpus).cached == ()
    assert DefinitionsLeg(resources).index(corpus).cached == ("definitions",)
    edited = Document(LAW.id, LAW.text.replace("“Berth” means", "“Slip” means"))
    assert DefinitionsLeg(resources).index(make_corpus(edited)).cached == ()
    assert find("slip", make_corpus(edited), resources)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Housing providers’ duties", ["housing", "provider", "duty"]),
        ("The Tenant's boxes", ["the", "tenant", "box"]),
        ("business status gas analysis", ["business", "status", "gas", "analysis"]),
        ("low–income Äpfel", ["low", "income", "apfel"]),
    ],
)
def test_words_of_terms(text, words):
    assert read_words(text) == words


def define(chunk, corpus, resources, limit=5):
    stage = Definitions(10, limit, resources)
    stage.index(corpus, 1.0)
    return [found.text for found in stage.apply("q", [Hit(chunk, 1.0)]).hits[0].definitions]


def chunk_with(text, corpus, doc_id=""):
    return next(chunk for chunk in corpus.chunks if text in chunk.text and doc_id in chunk.doc_id)


def test_hits_carry_the_definitions_of_their_terms(resources):
    corpus = make_corpus(LAW, HANDBOOK)
    stage = Definitions(1, 5, resources)
    stage.index(corpus, 1.0)
    hits = [Hit(chunk_with("(b) The harbour", corpus), score) for score in (0.9, 0.8)]
    result = stage.apply("q", hits)
    (found,) = result.hits[0].definitions
    assert (found.term, found.doc_id) == ("Harbour master", "law.md")
    assert found.text == LAW.text[found.start : found.end].strip()
    assert found.text.startswith("(2) “Harbour master” means whoever")
    assert result.hits[1].definitions == ()
    assert [(hit.chunk, hit.score) for hit in result.hits] == [(h.chunk, h.score) for h in hits]
    assert result.counts == {"definitions": 1, "hits": 1}


def test_a_hit_is_not_given_what_it_defines_itself(resources):
    corpus = make_corpus(LAW)
    texts = define(chunk_with("“Harbour master” means", corpus), corpus, resources)
    assert len(texts) == 1
    assert texts[0].startswith("(1) “Berth”")


def test_another_document_counts_only_if_it_is_a_glossary(resources):
    corpus = make_corpus(HANDBOOK, GLOSSARY, *SCOPED)
    texts = define(chunk_with("Crews pay", corpus), corpus, resources)
    assert sorted(text.split(":")[0] for text in texts) == ["**Crew**", "**Fares**"]
    other = Chunk("x", "handbook.md", 0, 9, "a berth")
    assert define(other, corpus, resources) == []
    second = Document("terms.md", "# Terms\n\n**Crew**: those on deck.\n")
    corpus = make_corpus(HANDBOOK, GLOSSARY, second)
    texts = define(chunk_with("Crews pay", corpus), corpus, resources)
    assert [text.split(":")[0] for text in texts] == ["**Fares**"]


def test_the_nearest_definition_counts_and_the_limit_holds(resources):
    corpus = make_corpus(*SCOPED)
    far = Chunk("x", "2.md", 500, 510, "The berth.", headings=("Part 2. Night trains", "Late fees"))
    assert [text[-2:] for text in define(far, corpus, resources)] == ["2."]
    assert "a bed" in define(far, corpus, resources)[0]
    listed = Chunk("x", "2.md", 500, 510, "The berth.", headings=("Part 2. Night trains",))
    assert "a place" in define(listed, corpus, resources)[0]
    both = make_corpus(LAW)
    dues = Chunk("x", "law.md", 0, 9, "Berths of the harbour master")
    assert len(define(dues, both, resources)) == 2
    assert len(define(dues, both, resources, limit=1)) == 1
