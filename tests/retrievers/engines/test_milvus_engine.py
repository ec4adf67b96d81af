"""Milvus: its adapter before what milvus-lite serves, which speaks the same protocol."""

import socket
from contextlib import closing

import numpy as np
import pytest
from tools.milvus_servers import serve
from tools.server_engines import one_line

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance import (
    RULES,
    dense_is_cosine,
    hybrid_is_fused_from_its_lists,
)
from assay.retrievers.engines.conformance.sample import FEW, index
from assay.retrievers.engines.stores.milvus import MilvusSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytestmark = pytest.mark.usefixtures("impatient_milvus")
WEIGHTED = {"fusion": "weighted", "weights": {"dense": 0.7, "keyword": 0.3}}


def make(**settings):
    quick = {"timeout_seconds": 5.0, "retries": {"attempts": 2, "pause": 0.001}}
    chosen = MilvusSettings.model_validate(quick | settings)
    return chosen.build(Resources(Cache(default_root())))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(milvus_url, rule):
    rule.check(make)


@pytest.mark.parametrize(
    "settings", [{**WEIGHTED, "depth": {"dense": 20, "keyword": 50}}, {"exact": False}], ids=str
)
def test_fusion_by_the_rules(milvus_url, settings):
    for check in (dense_is_cosine, hybrid_is_fused_from_its_lists):
        check(lambda: make(**settings))


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, {"running", "the", "parse_json", "café"}),
        ({"stop_words": ["the"]}, {"running", "parse_json", "café"}),
    ],
)
def test_texts_are_cut_into_terms_as_the_settings_say(milvus_url, settings, found):
    with closing(make(bm25=settings)) as engine:
        index(engine, ["The Running of a café; parse_json"])
        asked = {"running", "run", "the", "parse_json", "json", "café", "cafe"}
        assert {word for word in asked if engine.keyword(word, 1)} == found


def test_constants_of_bm25_count(milvus_url):
    scores = []
    for bm25 in ({}, {"k1": 0.1}, {"b": 0.0}):
        with closing(make(bm25=bm25)) as engine:
            index(engine, FEW)
            scores.append(round(engine.keyword("cat", 1)[0][1], 4))
    # idf ln(1 + 4.5 / 1.5) of one holder in five; 2 occurrences in 6 of 2.2 terms on average.
    assert scores[2] == pytest.approx(1.3863 * 2 * 2.2 / 3.2, rel=1e-4)
    assert len(set(scores)) == 3


def test_recall_is_measured_where_search_is_approximate(milvus_url):
    vectors = np.random.default_rng(0).normal(size=(1000, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    graph = {"exact": False, "m": 2, "ef_construction": 2, "ef": 1}
    with closing(make(**graph)) as engine:
        engine.index(["text"] * len(vectors), vectors, "random")
        assert 0 < engine.metadata()["recall_against_exact"] < 0.99


def test_a_text_that_is_too_long(milvus_url):
    with pytest.raises(AssayError, match="text 1 has 65536 bytes, and 65535 are the most"):
        index(make(), ["short", "x" * 65_536])


def test_a_server_that_goes_and_what_is_none(tmp_path, monkeypatch):
    with serve(tmp_path) as server:
        engine = make(timeout_seconds=1.0)
        index(engine, FEW)
        server.stop(grace=0).wait()
        with closing(engine), count_retries() as cost:
            problem = one_line(lambda: engine.keyword("dog", 1))
        assert ": cannot be reached: " in problem
        assert "(2 tries)" in problem
        assert cost.retries == 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("MILVUS_URL", f"http://127.0.0.1:{port}")
        assert "cannot be reached: " in one_line(make(timeout_seconds=0.3)._settings.server)
    refused = one_line(make()._settings.server)
    assert refused.endswith(": cannot be reached: Connection refused (2 tries)")
    monkeypatch.setenv("MILVUS_URL", "")
    assert "set MILVUS_URL" in one_line(make()._settings.server)


def test_a_server_that_is_too_old(milvus_url, monkeypatch):
    from pymilvus import MilvusClient

    monkeypatch.setattr(MilvusClient, "get_server_version", lambda *_, **__: "v2.4.15")
    problem = one_line(make()._settings.server)
    assert "v2.4.15 is too old: keyword search by BM25 needs 2.5 or later" in problem
