"""Recency, calibration, the threshold, and which pipelines may have them."""

import math
from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from samples.ranked_lists import apply, ids, make_chunk, make_corpus, make_hits
from tools.part_settings import read_settings

from assay.retrievers.base import Document, Hit, LegRank
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.stages.scores import (
    Calibrate,
    CalibrateSettings,
    LegThreshold,
    Recency,
    RecencySettings,
    Threshold,
    ThresholdSettings,
    find_date,
)
from assay.retrievers.store.cache import Cache

DATES = ["2024-03-31", "2024-03-25", "2024-03-24", "2024-03-02", "2024-03-01", "", "soon"]
SCORES = st.lists(st.floats(0, 50), max_size=20).map(lambda scores: sorted(scores, reverse=True))


def rank_dated(dates, scores, **settings):
    """Apply recency to one hit of each of the documents `d0`, `d1`, … dated so."""
    documents = [
        Document(f"d{i}", f"---\ndate: {value}\n---\ntext" if value else "text")
        for i, value in enumerate(dates)
    ]
    chunks = [make_chunk(f"c{document.id}", "text", document.id) for document in documents]
    stage = Recency(RecencySettings.model_validate({"type": "recency", **settings}))
    stage.index(make_corpus(chunks, documents), 1.0)
    return stage, stage.apply("q", make_hits(chunks, scores)).hits


def test_recency_multiplies_by_the_age_in_days():
    """Ages 0, 6, 7, 29, 30 days from the newest; two documents without a date."""
    stage, hits = rank_dated(DATES, [1.0] * 7)
    by_document = {hit.chunk.doc_id: hit.score for hit in hits}
    assert [by_document[f"d{i}"] for i in range(7)] == [1.2, 1.2, 1.1, 1.1, 1.0, 1.0, 1.0]
    assert ids(hits) == ["cd1", "cd0", "cd3", "cd2", "cd6", "cd5", "cd4"]
    assert stage.metadata() == {"today": "2024-03-31"}
    for bias, factors in ((0.0, [1, 1]), (0.5, [1.1, 1.05]), (1.0, [1.2, 1.1])):
        _, hits = rank_dated(["2024-03-31", "2024-03-24"], [1.0, 1.0], bias=bias)
        assert sorted((hit.score for hit in hits), reverse=True) == pytest.approx(factors)
    _, hits = rank_dated(["2024-03-31", ""], [-0.5, -0.6])  # a negative cosine is lifted too
    assert [hit.score for hit in hits] == [pytest.approx(-0.5 / 1.2), -0.6]
    stage, hits = rank_dated(["", "soon"], [2, 1])
    assert (ids(hits), stage.metadata()) == (["cd0", "cd1"], {"today": None})


def test_recency_counts_from_a_given_day():
    for today in (date(2024, 4, 29), "2024-04-29"):
        _, hits = rank_dated(
            ["2024-04-01", "2024-03-01", "2025-01-01"], [1, 0.95, 0.5], today=today
        )
        assert [(hit.chunk.doc_id, hit.score) for hit in hits] == [
            ("d0", pytest.approx(1.1)),
            ("d1", 0.95),
            ("d2", pytest.approx(0.6)),
        ]


@pytest.mark.parametrize(
    ("dates", "found"),
    [
        (
            {"created": "2020-01-01", "date": "2021-01-01", "updated": "2022-01-01"},
            date(2022, 1, 1),
        ),
        ({"modified": "soon", "date": "2021-05-06 10:00:00+02:00"}, date(2021, 5, 6)),
        ({"created": "2020-02-30"}, None),
        ({}, None),
    ],
)
def test_the_last_change_dates_a_document(dates, found):
    assert find_date(Frontmatter(dates=dates)) == found


def test_calibration_by_hand():
    """With top 0.5, the shares of it are 1, 0.5 and 0: e^-5, e^0 and e^5 in the formula."""
    hits = make_hits([make_chunk(name) for name in "abc"], [0.5, 0.25, 0.0])
    after = apply(Calibrate(0.5, 10), hits, top=0.5).hits
    assert [hit.score for hit in after] == pytest.approx(
        [1 / (1 + math.exp(-5)), 0.5, 1 / (1 + math.exp(5))], abs=1e-15
    )
    assert [hit.legs for hit in after] == [hit.legs for hit in hits]


@given(
    scores=SCORES,
    top=st.sampled_from([0.0, 1e-9, 2 / 61, 1.0]),
    midpoint=st.floats(0, 1),
    steepness=st.sampled_from([0.1, 10, 1e6]),
)
def test_calibrated_scores_descend_between_0_and_1(scores, top, midpoint, steepness):
    """Also where all of them saturate, as boosted ones do, or are alike."""
    settings = CalibrateSettings(type="calibrate", midpoint=midpoint, steepness=steepness)
    hits = make_hits([make_chunk(f"c{i:02}") for i in range(len(scores))], scores)
    after = apply(Calibrate(settings.midpoint, settings.steepness), hits, top=top).hits
    assert ids(after) == ids(hits)
    assert all(0 <= hit.score <= 1 for hit in after)
    assert all(one.score > other.score for one, other in pairwise(after))


def test_the_threshold_keeps_what_reaches_it():
    hits = make_hits([make_chunk(name) for name in "abc"], [0.9, 0.3, 0.2999])
    result = Threshold(0.3).apply("q", hits)
    assert ids(result.hits) == ["a", "b"]
    assert result.counts == {"in": 3, "out": 2}
    assert "1 hits" in result.note
    nothing = Threshold(0.95).apply("q", hits)
    assert (nothing.hits, nothing.counts) == ([], {"in": 3, "out": 0})
    assert Threshold(0.1).apply("q", hits).note == ""


def test_a_threshold_by_a_leg_keeps_all_hits_or_none():
    chunks = [make_chunk(name) for name in "abc"]
    placed = [{"dense": LegRank(7, 0.71), "keyword": LegRank(1, 9.5)}, {"keyword": LegRank(2, 8.0)}]
    hits = [
        Hit(chunk, score, legs)
        for chunk, score, legs in zip(
            chunks, (0.03, 0.02, 0.01), [*placed, {"dense": LegRank(1, 0.7)}], strict=True
        )
    ]
    kept = LegThreshold("dense", 0.71).apply("q", hits)
    assert (kept.hits, kept.counts, kept.note) == (hits, {"in": 3, "out": 3}, "")
    named = [replace(hits[0], pinned=True), *hits[1:]]
    assert LegThreshold("dense", 0.99).apply("q", named).hits == named
    nothing = LegThreshold("dense", 0.72).apply("q", hits)
    assert (nothing.hits, nothing.counts) == ([], {"in": 3, "out": 0})
    assert nothing.note == "dropped all 3 hits: below 0.72 by dense; the best there is 0.710"
    unfound = LegThreshold("dense", 0.1).apply("q", hits[1:2])
    assert unfound.hits == []
    assert unfound.note.endswith("none was found by it")


DENSE = {"dense": {"type": "dense"}}
KEYWORD = {"keyword": {"type": "bm25"}}
HYBRID = {"legs": DENSE | KEYWORD, "fusion": {"type": "rrf"}}

BY_DENSE, BY_KEYWORD, BY_NOTHING = (
    {"type": "threshold", "of": leg} for leg in ("dense", "keyword", "other")
)
LINEAR = {**HYBRID, "fusion": {"type": "linear"}}


def check(retriever, *stages):
    named = [{"type": stage} if isinstance(stage, str) else stage for stage in stages]
    read_settings(PipelineSettings, {**retriever, "stages": named})


@pytest.mark.parametrize(
    ("retriever", "stages"),
    [
        (LINEAR, ("calibrate", "threshold")),
        (LINEAR, ("recency", "calibrate", "threshold", "mmr", "rerank")),
        (HYBRID, (BY_DENSE,)),
        (HYBRID, ("content_hash", BY_DENSE)),
        (HYBRID, ("rerank", "threshold")),
        (HYBRID, (BY_DENSE, "rerank", "threshold", "parents")),
        (HYBRID, ("rerank", "neighbours")),
        ({"legs": KEYWORD}, ("rerank", "threshold")),
        ({"legs": DENSE}, ("rerank", "neighbours")),
        (LINEAR, ("calibrate", "per_document", "neighbours")),
        (HYBRID, ({"type": "neighbours", "score_delta": None},)),
        (HYBRID, ("calibrate", {"type": "mmr", "relevance": "score"})),
        ({"legs": DENSE}, ("threshold", {"type": "mmr", "relevance": "score"})),
        ({"legs": DENSE}, ("neighbours",)),
    ],
)
def test_scores_on_a_scale_may_be_compared(retriever, stages):
    check(retriever, *stages)


@pytest.mark.parametrize(
    ("retriever", "stages", "problem"),
    [
        (HYBRID, ("threshold",), "threshold.minimum: .* put calibrate before it"),
        (LINEAR, ("neighbours",), "neighbours.score_delta: .* or set it to null"),
        (HYBRID, ("calibrate", "neighbours"), "rrf knows ranks"),
        (HYBRID, ({"type": "mmr", "relevance": "score"},), "mmr.relevance: .* min-max"),
        (HYBRID, ("calibrate", "mmr", "neighbours"), "mmr puts others"),
        (HYBRID, ("calibrate", "mmr", "threshold"), "mmr puts others"),
        (HYBRID, ("calibrate", "threshold"), "rrf knows ranks, not how well a query is answered"),
        (HYBRID, (BY_KEYWORD,), "threshold.of: keyword is a keyword leg; .* allowed: dense"),
        (HYBRID, (BY_NOTHING,), "threshold.of: other is no leg that searches; .* allowed: dense"),
        ({"legs": KEYWORD}, (BY_KEYWORD,), "allowed: none"),
        (HYBRID, ("threshold", "calibrate"), "calibrate cannot follow threshold"),
        (HYBRID, ("rerank", "threshold", "rerank"), "rerank cannot follow threshold"),
        (HYBRID, ("rerank", "threshold", "threshold"), "threshold and threshold cannot stand"),
        ({"legs": DENSE}, ("calibrate",), "calibrate: needs fusion"),
        ({"legs": KEYWORD}, ("threshold",), "a single keyword leg"),
    ],
)
def test_scores_without_a_scale_are_not_compared(retriever, stages, problem):
    with pytest.raises(ValidationError, match=problem):
        check(retriever, *stages)


def rare_threshold(folder):
    """Return a threshold that no hit reaches, and hits of four chunks, one with the code E07."""
    texts = ["pump stops E07", "pump valve", "pump runs deprecated", "pump idles"]
    chunks = [make_chunk(name, text) for name, text in zip("abcd", texts, strict=True)]
    settings = {"type": "threshold", "of": "dense", "minimum": 0.9, "rare_words": 0.25}
    stage = read_settings(ThresholdSettings, settings).build(Resources(Cache(folder)))
    stage.index(make_corpus(chunks, []), 1.0)
    return stage, make_hits(chunks, [0.04, 0.03, 0.02, 0.01])


@pytest.mark.parametrize(
    ("query", "expansion", "kept"),
    [
        ("what is E07", (), "a"),
        ("pump E07", (), "a"),
        ("valve E07", (), ""),  # both are rare, and no chunk has both
        ("E07 giraffe", (), ""),  # a word that is nowhere
        ("pump", (), ""),  # no rare word
        ("depr", (), ""),
        ("depr", ("deprecated",), "c"),
        ("depr pump", ("valve", "deprecated"), "c"),
        ("depr E07", ("deprecated",), ""),
        ("giraffe", ("deprecated", "valve"), ""),  # near in meaning completes nothing
    ],
)
def test_a_hit_with_all_rare_words_stays_below_the_threshold(query, expansion, kept, tmp_path):
    stage, hits = rare_threshold(tmp_path)
    result = stage.follow(query, expansion, hits)
    assert ids(result.hits) == list(kept)
    assert result.counts == {"in": 4, "out": len(kept)}
    assert ("with the rare words" in result.note) == bool(kept)
    with pytest.raises(ValidationError, match="rare_words: needs `of`"):
        read_settings(ThresholdSettings, {"type": "threshold", "rare_words": 0.1})


def test_recency_leaves_pinned_hits_first_at_their_scores():
    stage, hits = rank_dated(["2024-01-01", "", "2024-03-31"], [2.0, 1.9, 1.85])
    named = [replace(hit, score=score) for hit, score in zip(hits, (1.85, 2, 1.9), strict=True)]
    assert ids(named) == ["cd2", "cd0", "cd1"]
    pinned = [replace(hit, pinned=True) for hit in named[1:]]
    result = stage.apply("q", [*pinned, named[0]]).hits
    assert ids(result) == ["cd0", "cd1", "cd2"]
    assert [hit.score for hit in result] == [2.0, 1.9, math.nextafter(1.9, 0)]
