import pytest

from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.classify import ClassifySettings, classify
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

LEGS = {"words": "keyword", "meaning": "semantic", "links": "graph"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("getSailingById", "factual"),
        ("what does retry_limit do", "factual"),
        ("`cancel` a booking", "factual"),
        ('"refunded in full"', "factual"),
        ("changes in v2.3", "factual"),
        ("in the refunds section", "navigational"),
        ("[[refunds]]", "navigational"),
        ("Which chapter is about dogs?", "navigational"),
        ("in the crew handbook", "navigational"),
        ("what stands on the first page of it in the docs", "navigational"),
        ("login manual", "exploratory"),
        ("manual login in the morning", "exploratory"),
        ("how to link C++ programs", "factual"),
        ("C++17 or C#", "factual"),
        ("a C grade, item #4 and 2 + 2", "exploratory"),
        ("how does a refund work", "exploratory"),
        ("refunds", "exploratory"),
        ("intersections of routes", "exploratory"),
        ("", "exploratory"),
    ],
)
def test_types_of_queries(query, expected):
    assert classify(query) == expected


@pytest.mark.parametrize(
    ("query", "raised", "factor"),
    [
        ("getSailingById", "words", 2.0),
        ("the dogs section", "links", 3.0),
        ("dogs", "meaning", 4.0),
    ],
)
def test_raises_the_legs_that_serve_the_type(query, raised, factor, tmp_path):
    settings = ClassifySettings(type="classify", factual=2.0, navigational=3.0, exploratory=4.0)
    step = settings.build(Resources(Cache(tmp_path)), LEGS)
    result = step.apply(LegQuery(query, factors={"words": 0.5}))
    given = {"words": 0.5, "meaning": 1.0, "links": 1.0}
    assert result.request.factors == given | {raised: given[raised] * factor}
    assert result.request.text == query
    assert f"{LEGS[raised]} legs × {factor:g}" in result.note
