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


@pytest.mark.parametrize(
    ("settings", "asked", "dense", "keyword", "note"),
    [
        ({}, LegQuery("auth"), "auth authentication", None, "+ authentication (begins so)"),
        ({}, LegQuery("suit free"), None, "suit free suitcases", "+ suitcases (begins so)"),
        # It joins what other steps have asked.
        (
            {"legs": ["semantic", "keyword"]},
            LegQuery("auth", texts={"keyword": "auth login"}),
            "auth authentication", "auth login authentication", "+ authentication (begins so)",
        ),
        # The commonest terms are the vocabulary; what other legs are asked stays.
        (
            {"vocabulary": 1, "floor": -1},
            LegQuery("anything", texts={"keyword": "any"}), "anything authentication", "any", "+",
        ),
    ],
)  # fmt: skip
def test_what_is_added(settings, asked, dense, keyword, note, resources):
    step = make(resources, **settings)
    result = step.apply(asked)
    assert dense is None or result.request.ask("dense") == dense
    assert keyword is None or result.request.ask("keyword") == keyword
    assert result.note.startswith(note)
    assert result.counts["added"] == len(result.request.expansion) > 0
    assert step.metadata()["vocabulary"] == 1 or "vocabulary" not in settings


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
