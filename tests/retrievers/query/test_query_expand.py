import re

import pytest

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.query.expand import ExpandSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

TEXTS = (
    "Authentication is by key. Each request carries the authentication header.",
    "A ferry sails twice a day; ferries in winter sail once.",
    "Two suitcases are free of charge, and so is one bicycle.",
    "The retry_limit of getSailingById is three.",
)
LEGS = {"dense": "semantic", "keyword": "keyword"}


@pytest.fixture(scope="module")
def resources():
    return Resources(Cache(default_root()))


def make(resources, **settings):
    step = ExpandSettings.model_validate({"type": "expand", **settings}).build(resources, LEGS)
    step.index(Corpus([Chunk(f"c{n}", "d", 0, 1, text) for n, text in enumerate(TEXTS)]))
    return step


def test_auth_finds_authentication(resources):
    result = make(resources).apply(LegQuery("auth"))
    assert result.request.texts == dict.fromkeys(LEGS, "auth authentication")
    assert result.request.expansion == ("authentication",)
    assert result.note == "+ authentication (begins so)"
    assert result.counts == {"added": 1}


def test_adds_neither_what_is_there_nor_one_stem_twice(resources):
    step = make(resources, floor=-1, terms=20)
    added = step.apply(LegQuery("ferries")).request.ask("dense").split()[1:]
    assert len(added) == len(set(added)) > 5
    assert "ferry" not in added
    assert len({"sail", "sails"} & set(added)) == 1
    assert not {"is", "so", "and", "by"} & set(added)


def test_terms_are_nearest_first_and_reach_the_floor(resources):
    result = make(resources, floor=0.5, terms=5).apply(LegQuery("logging in to the service"))
    cosines = [float(value) for value in re.findall(r"\((0\.\d\d)\)", result.note)]
    assert cosines == sorted(cosines, reverse=True)
    assert min(cosines) >= 0.5
    assert make(resources, floor=0.99).apply(LegQuery("zebra")).request == LegQuery("zebra")


def test_the_commonest_terms_are_the_vocabulary(resources):
    step = make(resources, vocabulary=1, floor=-1)
    assert step.metadata()["vocabulary"] == 1
    assert step.apply(LegQuery("anything")).request.ask("dense") == "anything authentication"


def test_joins_what_other_steps_have_asked(resources):
    step = make(resources, legs=["semantic", "keyword"])
    request = step.apply(LegQuery("auth", texts={"keyword": "auth login"})).request
    assert request.texts == {
        "dense": "auth authentication",
        "keyword": "auth login authentication",
    }


def test_the_beginning_of_a_word_is_completed_for_keyword_legs_too(resources):
    result = make(resources).apply(LegQuery("suit free"))
    assert result.request.ask("keyword") == "suit free suitcases"
    assert result.request.ask("dense").startswith("suit free suitcases")
    assert result.note.startswith("+ suitcases (begins so)")


@pytest.mark.parametrize("query", ["sui", "ferries", "ferry", "sailing", "suitcases", "zebra"])
def test_short_and_known_words_are_not_completed(resources, query):
    assert make(resources, floor=0.99).apply(LegQuery(query)).request == LegQuery(query)


def test_the_commonest_completions_come_first_one_of_a_stem(resources):
    texts = ["depreciation", "deprecated deprecated deprecation", "depressed"]
    step = make(resources, floor=0.99, terms=2)
    step.index(Corpus([Chunk(f"c{n}", "d", 0, 1, text) for n, text in enumerate(texts)]))
    assert step.apply(LegQuery("depr")).request.ask("keyword") == "depr deprecated depreciation"


def test_a_keyword_leg_finds_by_the_added_term(resources):
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
        retriever = config.build(resources)
        retriever.index([Document(f"{n}.md", text) for n, text in enumerate(TEXTS)])
        found[legs[0]] = [hit.chunk.doc_id for hit in retriever.search("luggage", 5).hits]
    assert found["semantic"] == []
    assert "2.md" in found["keyword"]
