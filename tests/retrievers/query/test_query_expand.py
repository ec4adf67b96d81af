import re

import pytest

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.query.base import QueryStep, Request
from assay.retrievers.query.expand import ExpandSettings
from assay.retrievers.settings import Workshop
from assay.retrievers.store.cache import Cache, default_root

TEXTS = (
    "Authentication is by key. Each request carries the authentication header.",
    "A ferry sails twice a day; ferries in winter sail once.",
    "Two suitcases are free of charge, and so is one bicycle.",
    "The retry_limit of getSailingById is three.",
)
LEGS = {"dense": "semantic", "keyword": "keyword"}


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop(Cache(default_root()))


def make(workshop: Workshop, **settings: object) -> QueryStep:
    step = ExpandSettings.model_validate({"type": "expand", **settings}).build(workshop, LEGS)
    step.index(Corpus([Chunk(f"c{n}", "d", 0, 1, text) for n, text in enumerate(TEXTS)]))
    return step


def test_auth_finds_authentication(workshop: Workshop) -> None:
    result = make(workshop).apply(Request("auth"))
    assert result.request.texts == dict.fromkeys(LEGS, "auth authentication")
    assert result.note == "+ authentication (begins so)"
    assert result.counts == {"added": 1}


def test_adds_neither_what_is_there_nor_one_stem_twice(workshop: Workshop) -> None:
    step = make(workshop, floor=-1, terms=20)
    added = step.apply(Request("ferries")).request.ask("dense").split()[1:]
    assert len(added) == len(set(added)) > 5
    assert "ferry" not in added
    assert len({"sail", "sails"} & set(added)) == 1
    assert not {"is", "so", "and", "by"} & set(added)


def test_terms_are_nearest_first_and_reach_the_floor(workshop: Workshop) -> None:
    result = make(workshop, floor=0.5, terms=5).apply(Request("logging in to the service"))
    cosines = [float(value) for value in re.findall(r"\((0\.\d\d)\)", result.note)]
    assert cosines == sorted(cosines, reverse=True)
    assert min(cosines) >= 0.5
    assert make(workshop, floor=0.99).apply(Request("zebra")).request == Request("zebra")


def test_the_commonest_terms_are_the_vocabulary(workshop: Workshop) -> None:
    step = make(workshop, vocabulary=1, floor=-1)
    assert step.facts()["vocabulary"] == 1
    assert step.apply(Request("anything")).request.ask("dense") == "anything authentication"


def test_joins_what_other_steps_have_asked(workshop: Workshop) -> None:
    step = make(workshop, legs=["semantic", "keyword"])
    request = step.apply(Request("auth", texts={"keyword": "auth login"})).request
    assert request.texts == {
        "dense": "auth authentication",
        "keyword": "auth login authentication",
    }


def test_the_beginning_of_a_word_is_completed_for_keyword_legs_too(workshop: Workshop) -> None:
    result = make(workshop).apply(Request("suit free"))
    assert result.request.ask("keyword") == "suit free suitcases"
    assert result.request.ask("dense").startswith("suit free suitcases")
    assert result.note.startswith("+ suitcases (begins so)")


@pytest.mark.parametrize("query", ["sui", "ferries", "ferry", "sailing", "suitcases", "zebra"])
def test_short_and_known_words_are_not_completed(workshop: Workshop, query: str) -> None:
    assert make(workshop, floor=0.99).apply(Request(query)).request == Request(query)


def test_the_commonest_completions_come_first_one_of_a_stem(workshop: Workshop) -> None:
    texts = ["depreciation", "deprecated deprecated deprecation", "depressed"]
    step = make(workshop, floor=0.99, terms=2)
    step.index(Corpus([Chunk(f"c{n}", "d", 0, 1, text) for n, text in enumerate(texts)]))
    assert step.apply(Request("depr")).request.ask("keyword") == "depr deprecated depreciation"


@pytest.mark.parametrize("query", ["", " \n", "?!", "the of and"])
def test_nothing_to_expand(workshop: Workshop, query: str) -> None:
    assert make(workshop).apply(Request(query)).request == Request(query)


def test_a_keyword_leg_finds_by_the_added_term(workshop: Workshop) -> None:
    found = {}
    for legs in (["semantic"], ["keyword"]):
        config = PipelineConfig.model_validate(
            {
                "name": "p",
                "retriever": {
                    "query": [{"type": "expand", "legs": legs, "floor": 0.5, "terms": 10}],
                    "legs": {"keyword": {"type": "bm25"}},
                },
            }
        )
        retriever = config.build(workshop)
        retriever.index([Document(f"{n}.md", text) for n, text in enumerate(TEXTS)])
        found[legs[0]] = [hit.chunk.doc_id for hit in retriever.search("luggage", 5).hits]
    assert found["semantic"] == []
    assert "2.md" in found["keyword"]
