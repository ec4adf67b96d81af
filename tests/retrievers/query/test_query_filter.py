from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.query.filter import FilterSettings, find_conditions, strip_conditions
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

DOCUMENTS = [
    Document(
        "guides/boats.md",
        "---\ncategory: Guide\nauthor: Kim Åkesson\ntags: [sea, winter]\n"
        "lang: en-GB\ndate: 2024-01-31\n---\n"
        "The ferry sails in winter.",
    ),
    Document(
        "policies/refunds.md",
        "---\ncategory: policy\nauthors: [Kim Lee, Ola Nord]\ntags: money\n"
        "language: no\nmodified: 2024-03-01\n"
        "date: 2020-01-01\n---\nA cancelled ferry is refunded.",
    ),
    Document("plain.md", "The ferry carries dogs and reads category: none of them."),
]
ALL = {document.id for document in DOCUMENTS}
BOATS, REFUNDS, PLAIN = (document.id for document in DOCUMENTS)


def build(**settings: object) -> Pipeline:
    config = PipelineConfig.model_validate(
        {
            "name": "p",
            "retriever": {
                "query": [{"type": "filter", **settings}],
                "legs": {"keyword": {"type": "bm25"}},
            },
        }
    )
    pipeline = config.build(Resources(Cache(default_root())))
    assert isinstance(pipeline, Pipeline)
    pipeline.index(DOCUMENTS)
    return pipeline


def find(query: str, **settings: object) -> set[str]:
    return {hit.chunk.doc_id for hit in build(**settings).search(query, 10).hits}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ALL),
        ({"category": "POLICY"}, {REFUNDS}),
        ({"category": ["policy", "guide"]}, {BOATS, REFUNDS}),
        ({"language": ["en"]}, {BOATS}),
        ({"language": ["en-GB", "no"]}, {BOATS, REFUNDS}),
        ({"language": "e"}, set()),
        ({"author": "kim"}, {BOATS, REFUNDS}),
        ({"author": "kim akesson"}, {BOATS}),
        ({"author": "Nord"}, {REFUNDS}),
        ({"tags": ["sea", "money"]}, {BOATS, REFUNDS}),
        ({"tags": ["sea"], "category": "policy"}, set()),
        ({"after": "2024-01-31"}, {BOATS, REFUNDS}),
        ({"after": date(2024, 2, 1)}, {REFUNDS}),
        ({"before": "2024-02-01"}, {BOATS}),
        ({"path": "guides/*"}, {BOATS}),
        ({"path": ["*refunds*", "plain.md"]}, {REFUNDS, PLAIN}),
        ({"category": "unheard of"}, set()),
    ],
)
def test_static_conditions(settings: dict[str, object], expected: set[str]) -> None:
    assert find("ferry", **settings) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ferry", ALL),
        ("category:policy ferry", {REFUNDS}),
        ("language:en ferry", {BOATS}),
        ("ferry author:kim after:2024-02-01", {REFUNDS}),
        ('ferry author:"Kim Åkesson"', {BOATS}),
        ("ferry tag:sea tag:money", {BOATS, REFUNDS}),
        ("path:guides/* ferry", {BOATS}),
        ("ferry after:2020-01-01 after:2024-02-01", {REFUNDS}),
        ("ferry category:nothing", set()),
        ("ferry after:yesterday", set()),
        ("category:policy", set()),
        ("ferry category: none", ALL),
        ("ferry subcategory:policy", ALL),
    ],
)
def test_conditions_in_the_query(query: str, expected: set[str]) -> None:
    assert find(query, from_query=True) == expected


def test_both_count() -> None:
    assert find("ferry author:kim", from_query=True, category="policy") == {REFUNDS}
    assert find("ferry category:guide", from_query=True, category="policy") == set()


def test_a_query_is_text_unless_asked() -> None:
    assert find("category:policy ferry") == ALL


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("ferry category:policy", "category: policy"),
        ("ferry category:nothing", "category: nothing: no document; there are: guide, policy"),
        ("ferry after:soon", "after: soon: no such date; write it as 2024-01-31"),
        ("x category:guide tag:money", "no document meets all: category: guide; tags: money"),
    ],
)
def test_the_note_says_why(query: str, note: str) -> None:
    entry = build(from_query=True).search(query, 5).trace[0]
    assert (entry.name, entry.kind, entry.note) == ("filter", "query", note)
    assert entry.counts["allowed"] == ("there" not in note and note == "category: policy")


def test_legs_and_stages_do_not_see_conditions() -> None:
    step = FilterSettings(type="filter", from_query=True).build(
        Resources(Cache(default_root())), {"a": "keyword"}
    )
    result = step.apply(LegQuery("a b category:c d", texts={"leg": "a category:c z"}))
    assert (result.request.text, result.request.texts) == ("a b d", {"leg": "a z"})
    assert result.request.allowed == frozenset()


def test_allows_no_more_than_a_step_before() -> None:
    step = FilterSettings(type="filter", category=["guide"]).build(
        Resources(Cache(default_root())), {}
    )
    corpus = Corpus([Chunk("a", BOATS, 0, 1, "a"), Chunk("b", BOATS, 1, 2, "b")], DOCUMENTS)
    step.index(corpus)
    assert step.apply(LegQuery("x")).request.allowed == {0, 1}
    assert step.apply(LegQuery("x", allowed=frozenset({1, 7}))).request.allowed == {1}


@given(st.text(st.sampled_from('author:kim"tag :after/*\u212b\n[')))
def test_no_query_is_an_error(text: str) -> None:
    stripped = strip_conditions(text)
    for condition in find_conditions(text):
        assert condition.values
    assert len(stripped) <= len(text)


def test_refuses_what_is_no_date() -> None:
    with pytest.raises(ValidationError, match="date"):
        FilterSettings.model_validate({"type": "filter", "after": "soon"})
