from datetime import date
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.keyword import KeywordLeg, KeywordLegSettings
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.legs.leg_set import LegGroup
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.query.filter import FilterSettings
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
RESOURCES = Resources(Cache(default_root()))
BOATS, REFUNDS, PLAIN = (document.id for document in DOCUMENTS)


def build(**settings):
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


def find(query, **settings):
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
def test_static_conditions(settings, expected):
    assert find("ferry", **settings) == expected


POLICY = {"category": "policy", "from_query": True}


@pytest.mark.parametrize(
    ("query", "expected", "settings"),
    [
        ("ferry", ALL, {}),
        ("category:policy ferry", {REFUNDS}, {}),
        ("language:en ferry", {BOATS}, {}),
        ("ferry author:kim after:2024-02-01", {REFUNDS}, {}),
        ('ferry author:"Kim Åkesson"', {BOATS}, {}),
        ("ferry tag:sea tag:money", {BOATS, REFUNDS}, {}),
        ("path:guides/* ferry", {BOATS}, {}),
        ("ferry after:2020-01-01 after:2024-02-01", {REFUNDS}, {}),
        ("ferry category:nothing", set(), {}),
        ("ferry after:yesterday", set(), {}),
        ("category:policy", set(), {}),
        ("ferry category: none", ALL, {}),
        ("ferry subcategory:policy", ALL, {}),
        # Both count, and a query is text unless asked.
        ("ferry author:kim", {REFUNDS}, POLICY),
        ("ferry category:guide", set(), POLICY),
        ("category:policy ferry", ALL, {"from_query": False}),
    ],
)
def test_conditions_in_the_query(query, expected, settings):
    assert find(query, **{"from_query": True, **settings}) == expected


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("ferry category:policy", "category: policy"),
        ("ferry category:nothing", "category: nothing: no document; there are: guide, policy"),
        ("ferry after:soon", "after: soon: no such date; write it as 2024-01-31"),
        ("x category:guide tag:money", "no document meets all: category: guide; tags: money"),
    ],
)
def test_the_note_says_why(query, note):
    entry = build(from_query=True).search(query, 5).trace[0]
    assert (entry.name, entry.kind, entry.note) == ("filter", "query", note)
    assert entry.counts["allowed"] == ("there" not in note and note == "category: policy")


def test_legs_and_stages_do_not_see_conditions():
    step = FilterSettings(type="filter", from_query=True).build(
        Resources(Cache(default_root())), {"a": "keyword"}
    )
    result = step.apply(LegQuery("a b category:c d", texts={"leg": "a category:c z"}))
    assert (result.request.text, result.request.texts) == ("a b d", {"leg": "a z"})
    assert result.request.allowed == frozenset()


def test_allows_no_more_than_a_step_before():
    step = FilterSettings(type="filter", category=["guide"]).build(
        Resources(Cache(default_root())), {}
    )
    corpus = Corpus([Chunk("a", BOATS, 0, 1, "a"), Chunk("b", BOATS, 1, 2, "b")], DOCUMENTS)
    step.index(corpus)
    assert step.apply(LegQuery("x")).request.allowed == {0, 1}
    assert step.apply(LegQuery("x", allowed=frozenset({1, 7}))).request.allowed == {1}
    with pytest.raises(ValidationError, match="date"):
        FilterSettings.model_validate({"type": "filter", "after": "soon"})


WORDS = ("ferry", "harbour", "winter", "dog", "ticket", "refund")


class Unrestricted(KeywordLeg):
    """A leg that cannot leave out chunks, and counts for how many it was asked."""

    def restrict(self, allowed):
        return None


def make(kind, leg):
    assert isinstance(leg, KeywordLegSettings)
    return kind(leg, RESOURCES)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=30),
    st.sets(st.integers(0, 29)),
    st.sampled_from(WORDS),
    st.integers(1, 8),
)
def test_both_ways_find_the_best_of_what_is_allowed(texts, chosen, query, depth):
    chunks = [Chunk(f"c{99 - i}", "d", 0, 1, " ".join(words)) for i, words in enumerate(texts)]
    corpus = Corpus(chunks)
    allowed = frozenset(i for i in chosen if i < len(chunks))
    leg_settings = KeywordLegSettings.model_validate({"type": "bm25", "depth": depth})
    found = []
    for kind in (KeywordLeg, Unrestricted):
        group = LegGroup({"leg": leg_settings}, partial(make, kind))
        group.index(corpus, print)
        found.append(group.search(LegQuery(query, allowed=allowed), {})["leg"])
    whole = KeywordLeg(leg_settings, RESOURCES)
    whole.index(corpus)
    expected = [one for one in whole.search(query, 99).candidates if one[0] in allowed][:depth]
    assert found[0].candidates == found[1].candidates == expected
    assert "asked" not in found[0].counts
    assert found[1].counts["asked"] >= min(len(chunks), depth)


def test_a_leg_that_cannot_leave_out_is_not_asked_for_all_at_once():
    chunks = [Chunk(f"c{9999 - i}", "d", 0, 1, "ferry " * (1 + i % 7)) for i in range(3000)]
    leg_settings = KeywordLegSettings.model_validate({"type": "bm25", "depth": 5})
    group = LegGroup({"leg": leg_settings}, partial(make, Unrestricted))
    group.index(Corpus(chunks), print)
    request = LegQuery("ferry", allowed=frozenset(range(0, 3000, 10)))
    (result,) = group.search(request, {}).values()
    assert len(result.candidates) == 5
    assert result.counts["asked"] < 1000
