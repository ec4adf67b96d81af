"""Weaviate's adapter through its real client, against a double that speaks its wire format."""

import json
import struct
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from pydantic import ValidationError
from tools.server_engines import make_weaviate as make
from tools.server_engines import one_line, point_at

pytest.importorskip("weaviate", reason="needs the extra `weaviate`")

from doubles.weaviate import WeaviateDouble

from assay.retrievers.engines.conformance import (
    RULES,
    dense_is_cosine,
    hybrid_is_fused_from_its_lists,
    smaller_limits_give_heads,
)
from assay.retrievers.engines.conformance.sample import TEXTS, encode, index
from assay.retrievers.engines.formulas import ScaledScores
from assay.retrievers.engines.servers import collections
from assay.retrievers.engines.stores.weaviate import WeaviateSettings, WeaviateStore

DENSE = [(3, 0.9), (1, 0.8), (2, 0.5)]
KEYWORD = [(1, 7.0), (4, 3.0)]


@pytest.fixture(scope="module")
def shared():
    with WeaviateDouble().serve() as served, pytest.MonkeyPatch.context() as patch:
        point_at(served, patch)
        yield served


def search(engine):
    return engine.hybrid("winter ferry", encode("winter ferry"), 5)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(shared, rule):
    rule.check(make)


@pytest.mark.parametrize(
    "settings",
    [
        {"fusion": "relative_score", "alpha": 0.7},
        {"fusion": "ranked", "alpha": 0.9, "depth": {"dense": 110, "keyword": 110}},
        {"exact": False},
    ],
    ids=str,
)
def test_fusion_by_the_rules(shared, settings):
    for check in (dense_is_cosine, hybrid_is_fused_from_its_lists, smaller_limits_give_heads):
        check(lambda: make(**settings))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("fusion", ["ranked", "relative_score"])
def test_a_list_without_weight_is_not_searched(shared, fusion, alpha):
    hybrid_is_fused_from_its_lists(lambda: make(fusion=fusion, alpha=alpha))
    formula = make(fusion=fusion, alpha=alpha).formula
    listed = DENSE if alpha else KEYWORD
    assert [position for position, _ in formula.fuse(DENSE, KEYWORD)] == [i for i, _ in listed]


def test_ranked_fusion_by_hand():
    # usecases/traverser/hybrid/hybrid_fusion.go: weight / (i + 60), i from 0.
    fused = dict(make(alpha=0.75).formula.fuse(DENSE, KEYWORD))
    expected = {
        3: 0.75 / 60,
        1: 0.75 / 61 + 0.25 / 60,
        2: 0.75 / 62,
        4: 0.25 / 61,
    }
    assert fused == pytest.approx(expected)


def test_relative_score_fusion_by_hand():
    # Each list's lowest becomes 0, its highest the list's weight.
    formula = make(fusion="relative_score", alpha=0.75).formula
    fused = dict(formula.fuse(DENSE, KEYWORD))
    assert fused == pytest.approx({3: 0.75, 1: 0.75 * 0.75 + 0.25, 2: 0.0, 4: 0.0})
    # Equal scores all become the weight.
    assert ScaledScores((0.75, 0.25)).fuse([], [(5, 2.0), (6, 2.0)]) == [(5, 0.25), (6, 0.25)]


def test_no_more_is_returned_than_a_list_is_deep(shared):
    with closing(make()) as e:
        index(e)
        fused = e.hybrid("paragraph 17", encode("lantern"), 500)
        lists = e.lists("paragraph 17", encode("lantern"))
        assert len({position for found in lists for position, _ in found}) > 100
        assert len(fused) == len(e.formula.fuse(*lists)) == 100
    assert "the best 100" in e.formula.statement


def test_queries_as_they_are_sent(double):
    vector = encode("winter ferry")
    with closing(
        make(fusion="relative_score", alpha=0.25, depth={"dense": 150, "keyword": 150})
    ) as e:
        index(e)
        e.dense(vector, 7)
        e.keyword('"winter" -ferry', 1000)
        e.hybrid("winter", vector, 3)
    near, words, both = double.asked("Search")
    packed = struct.pack("32f", *vector)
    assert near.limit == 8  # one more than the answer shows whether the last of it ties
    assert near.near_vector.vectors[0].vector_bytes == packed
    assert near.metadata.distance
    assert words.limit == len(TEXTS)
    assert words.bm25_search.query == '"winter" -ferry'
    assert list(words.bm25_search.properties) == ["text"]
    for operator in (
        words.bm25_search.search_operator,
        both.hybrid_search.bm25_search_operator,
    ):
        assert operator.operator == operator.OPERATOR_OR
        assert operator.minimum_or_tokens_match == 1
    hybrid = both.hybrid_search
    assert both.limit == 150  # the depth, whatever the limit of the answer
    assert (hybrid.query, list(hybrid.properties)) == ("winter", ["text"])
    assert hybrid.vector_bytes == packed
    assert (hybrid.use_alpha_param, hybrid.alpha_param) == (True, 0.25)
    assert hybrid.fusion_type == hybrid.FUSION_TYPE_RELATIVE_SCORE
    assert both.metadata.score
    for request in (near, words, both):
        assert not request.properties.return_all_nonref_properties
        assert not request.autocut


def test_ranked_fusion_is_asked_of_an_older_server(double):
    double.version = "1.30.1"
    with closing(make(alpha=0.25)) as e:
        index(e)
        search(e)
        assert e.metadata()["version"] == "1.30.1"
    hybrid = double.asked("Search")[0].hybrid_search
    assert (hybrid.use_alpha_param, hybrid.alpha) == (False, 0.25)
    assert hybrid.fusion_type == hybrid.FUSION_TYPE_RANKED


@pytest.mark.parametrize(("version", "can"), [("1.32.9", False), ("1.33.0", True)])
def test_a_server_from_1_33_on_leaves_out_texts(double, version, can):
    double.version = version
    with closing(make()) as e:
        index(e)
        assert (e.restrict(np.arange(3)) is not None) is can


def test_no_longer_list_is_asked_for_than_the_server_gives(engine, double, monkeypatch):
    monkeypatch.setattr(WeaviateStore, "deepest", 9)
    for found in (engine.dense(encode("winter"), 50), engine.keyword("winter ferry", 50)):
        assert len(found) == 9
    assert [asked.limit for asked in double.asked("Search")[-2:]] == [9, 9]


def test_a_server_too_old_for_the_client(double):
    double.version = "1.19.0"
    assert "1.27" in one_line(lambda: index(make()))


def test_collections_as_they_are_made(double):
    bm25 = {"k1": 0.9, "b": 0.4, "tokenization": "trigram", "stop_words": "none"}
    for settings in ({"bm25": bm25}, {"exact": False, "max_connections": 8, "ef_construction": 50}):
        with closing(make(**settings)) as e:
            index(e)
            assert e.metadata()["exact"] is settings.get("exact", True)
    flat, graph = (collection.schema for collection in double.collections.values())
    assert flat["class"].startswith("Assay_")
    assert flat["invertedIndexConfig"]["bm25"] == {"k1": 0.9, "b": 0.4}
    assert flat["invertedIndexConfig"]["stopwords"]["preset"] == "none"
    (text,) = flat["properties"]
    assert (text["name"], text["dataType"], text["tokenization"]) == ("text", ["text"], "trigram")
    assert flat["shardingConfig"]["desiredCount"] == 1
    (vectors,) = flat["vectorConfig"].values()
    assert vectors["vectorizer"] == {"none": {}}
    assert vectors["vectorIndexType"] == "flat"
    uncompressed = {"distance": "cosine", "skipDefaultQuantization": True}
    assert vectors["vectorIndexConfig"] == uncompressed
    (vectors,) = graph["vectorConfig"].values()
    assert vectors["vectorIndexType"] == "hnsw"
    assert vectors["vectorIndexConfig"] == {
        **uncompressed,
        "maxConnections": 8,
        "efConstruction": 50,
        "ef": -1,
    }
    note = json.loads(flat["description"])
    assert note["complete"] is True
    assert (note["identity"], note["dimensions"], note["texts"]) == ("hashing", 32, len(TEXTS))


def test_identifiers_and_vectors_of_a_batch(double):
    with closing(make()) as e:
        vectors = index(e)
    (batch,) = double.asked("BatchObjects")
    identifiers = [given.uuid for given in batch.objects]
    assert identifiers[:2] == [f"00000000-0000-8000-8000-00000000000{i}" for i in (0, 1)]
    assert identifiers == sorted(identifiers)
    packed = np.frombuffer(batch.objects[17].vector_bytes, np.float32)
    assert np.array_equal(packed, vectors[17])


def test_vectors_that_wait_to_be_indexed_are_waited_for(double, monkeypatch):
    monkeypatch.setattr(collections, "PAUSE", 0.01)
    double.queue = [300, 7]
    with closing(make()) as e:
        index(e)
    assert double.queue == []
    monkeypatch.setattr(collections, "INDEXING_SECONDS", -1)
    double.queue = [9, 9]
    assert "did not finish indexing in time" in one_line(lambda: index(make(), ["one"]))


def test_what_is_stored_and_its_removal(engine, double):
    name = engine.metadata()["index"]
    (whole,) = double.collections.values()
    half = f"Assay_{'0' * 16}_{'1' * 8}"
    note = json.loads(whole.schema["description"])
    described = json.dumps(note | {"complete": False})
    whole_of_others = {"class": "Assay_of_somebody_else", "vectorConfig": {"v": "unknown"}}
    double.answer(
        "POST", "/v1/schema", "", {**whole.schema, "class": half, "description": described}
    )
    double.answer("POST", "/v1/schema", "", whole_of_others)
    with engine._settings.server() as server:
        assert server.url == double.url
        lost, kept = server.list_stored()
        assert (lost.name, lost.texts) == (half.lower(), 0)
        assert (kept.name, kept.texts, kept.created) == (name, len(TEXTS), note["created"])
        server.drop(lost.name)
        server.drop(kept.name)
        server.drop(kept.name)
        assert server.list_stored() == []
        for foreign in ("Assay_of_somebody_else", "assay_of_somebody_else", "../x"):
            assert "no collection that Assay" in one_line(partial(server.drop, foreign))
    assert list(double.collections) == ["Assay_of_somebody_else"]


@pytest.mark.parametrize(
    "depth", [{"dense": 100, "keyword": 120}, {"dense": 50, "keyword": 50}, {"dense": 20_000}]
)
def test_depths_that_weaviate_cannot_keep(depth):
    with pytest.raises(ValidationError, match="depth: Weaviate"):
        WeaviateSettings.model_validate({"depth": depth})
