import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.bm25 import Formula
from assay.retrievers.legs.bm25f import FieldScorer, FieldTerms
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

TERMS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
PASSAGES = st.lists(TERMS, min_size=1, max_size=12).filter(any)
QUERY = st.lists(st.sampled_from("abcdefghxyz"), min_size=1, max_size=6)

ABOUT = """---
title: Ferry prices
description: What a crossing costs.
keywords: [fares, tariff]
tags: [money]
aliases: [price list]
author: Ida Holm
category: policy
---
"""


def make_leg(folder, corpus, **settings):
    values = {"weights": {}, "analyzer": "plain", "variant": "lucene"} | settings
    leg = KeywordLegSettings.model_validate(values).build(Resources(Cache(folder)))
    leg.index(corpus)
    return leg


def make_chunk(number, text, **fields):
    return Chunk(f"{999 - number}", f"{number}.md", 0, len(text), text, **fields)


def make_corpus(*bodies):
    return Corpus([make_chunk(number, body) for number, body in enumerate(bodies)])


def test_scores_by_hand(tmp_path):
    corpus = Corpus(
        [
            make_chunk(0, "dog dog", title="cat"),
            make_chunk(1, "cat bird"),
            make_chunk(2, "bird", title="fish"),
        ]
    )
    weights = {"title": 2.0, "body": 1.0}
    leg = make_leg(tmp_path, corpus, k1=1.0, b=0.5, weights=weights)
    # Two of three chunks hold cat. A title has 1 term on average of the two that have one, a body
    # 5/3. In the first chunk 2 · 1 / (.5 + .5 · 1 / 1), in the second 1 / (.5 + .5 · 2 / (5/3)).
    idf = math.log(1 + 1.5 / 2.5)
    first, second = 2.0, 1 / 1.1
    expected = [(0, idf * first / (first + 1)), (1, idf * second / (second + 1))]
    found = leg.search("cat", 10).candidates
    assert [position for position, _ in found] == [0, 1]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected])
    # Both fields of one chunk are summed before they saturate: dog twice in the body and bird.
    twice = 2 / (0.5 + 0.5 * 2 / (5 / 3))
    dog = math.log(1 + 2.5 / 1.5) * twice / (twice + 1)
    assert leg.search("dog cat", 1).candidates[0][1] == pytest.approx(dog + expected[0][1])


@given(PASSAGES, QUERY, st.sampled_from(["okapi", "lucene"]), st.floats(0.01, 3), st.floats(0, 1))
def test_a_body_alone_scores_as_bm25_does(passages, query, variant, k1, b):
    # A passage without terms still has a body.
    corpus = make_corpus(*(" ".join(passage) or "…" for passage in passages))
    constants = {"variant": variant, "k1": k1, "b": b}
    with tempfile.TemporaryDirectory() as name:
        fielded = make_leg(Path(name), corpus, **constants)
        settings = KeywordLegSettings.model_validate({"analyzer": "plain", **constants})
        keyword = settings.build(Resources(Cache(Path(name))))
        keyword.index(corpus)
        expected = dict(keyword.search(" ".join(query), 20).candidates)
        found = dict(fielded.search(" ".join(query), 20).candidates)
    # A score at the edge of what is rounded to 0 may be found by one of them alone.
    for position in expected.keys() | found.keys():
        one, other = expected.get(position, 0.0), found.get(position, 0.0)
        assert one == pytest.approx(other, rel=1e-8, abs=2e-9)


@given(PASSAGES, st.data(), st.floats(1, 5))
def test_more_weight_lifts_what_stands_in_the_field_alone(bodies, data, factor):
    size = len(bodies)
    titles = data.draw(st.lists(TERMS, min_size=size, max_size=size))
    scores = []
    for weight in (1.0, factor):
        scorer = FieldScorer(Formula("lucene", 1.2, 0.75, 0.0))
        with tempfile.TemporaryDirectory() as name:
            fields = [FieldTerms(1.0, bodies), FieldTerms(weight, titles)]
            scorer.build(fields, Path(name))
            scorer.load(Path(name))
            scores.append(scorer.score(["a"]))
    titled = np.array(["a" in title for title in titles])
    assert np.all(scores[1][titled] >= scores[0][titled] * (1 - 1e-12))  # but for rounding
    assert np.array_equal(scores[1][~titled], scores[0][~titled])


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("title", "prices"),
        ("headings", "children"),
        ("keywords", "tariff"),
        ("description", "crossing"),
        ("tags", "money"),
        ("aliases", "list"),
        ("author", "holm"),
        ("category", "policy"),
        ("body", "half"),
        ("body", "whiskers"),
    ],
)
def test_every_field_is_searched(tmp_path, field, query):
    text = "They pay half."
    documents = [Document("0.md", ABOUT + text), Document("1.md", "Dogs"), Document("2.md", "Cats")]
    chunks = [
        make_chunk(0, text, headings=("Ferries", "Children"), context="about whiskers"),
        make_chunk(1, "Dogs"),
        make_chunk(2, "Cats"),
    ]
    corpus = Corpus(chunks, documents)
    ((position, high),) = make_leg(tmp_path, corpus).search(query, 5).candidates
    assert position == 0
    assert corpus.chunks[0].context == "about whiskers"
    low = make_leg(tmp_path, corpus, weights={field: 0.1}).search(query, 5).candidates[0][1]
    assert low < high
    assert make_leg(tmp_path, corpus, weights={field: 0.0}).search(query, 5).candidates == []


def test_a_chunk_has_its_own_title_else_its_documents(tmp_path):
    bodies = [(ABOUT, "one"), ("", "two"), ("", "three"), ("", "four")]
    documents = [
        Document(f"{number}.md", text + body, title=f"given{number}")
        for number, (text, body) in enumerate(bodies)
    ]
    chunks = [make_chunk(number, body) for number, (_, body) in enumerate(bodies[:3])]
    chunks.append(make_chunk(3, "four", title="own"))
    leg = make_leg(tmp_path, Corpus(chunks, documents))
    found = {
        query: [position for position, _ in leg.search(query, 5).candidates]
        for query in ("ferry", "given0", "given1", "given2", "given3", "own")
    }
    assert found == {
        "ferry": [0], "given0": [], "given1": [1], "given2": [2], "given3": [], "own": [3]
    }  # fmt: skip


def test_a_summary_is_the_description_or_else_the_first_paragraph(tmp_path):
    texts = [f"{ABOUT}# Boats\n\nHulls.\n", "# Trains\n\nNight cars.\n\nMore.\n", "- a list"]
    documents = [Document(f"{number}.md", text) for number, text in enumerate(texts)]
    corpus = Corpus([make_chunk(number, "body") for number in range(3)], documents)

    def find(query, **weights):
        candidates = make_leg(tmp_path, corpus, weights=weights).search(query, 9).candidates
        return [corpus.chunks[position].doc_id for position, _ in candidates]

    assert find("night") == []
    assert find("night", summary=1.0) == ["1.md"]
    assert find("crossing", summary=1.0, description=0.0) == ["0.md"]
    assert find("hulls", summary=1.0) == find("more", summary=1.0) == []
