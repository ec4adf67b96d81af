"""Qdrant's adapter through its real client, against the client's own emulation behind REST."""

from contextlib import closing
from itertools import chain

import pytest
from pydantic import ValidationError
from tools.server_engines import make_qdrant as make

pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")

from doubles.qdrant import QdrantDouble

from assay.retrievers.engines.conformance import RULES, hybrid_is_fused_from_its_lists
from assay.retrievers.engines.conformance.sample import FEW, QUERIES, encode, index
from assay.retrievers.engines.stores.qdrant import QdrantSettings, QdrantStore
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


@pytest.fixture(scope="module")
def shared():
    with QdrantDouble().serve() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("QDRANT_URL", url)
        yield


def search(engine):
    return engine.hybrid("running cat", encode("running cat"), 5)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(shared, rule):
    rule.check(make)


@pytest.mark.parametrize(
    "settings",
    [
        {"fusion": "dbsf"},
        {"weights": {"dense": 3.0, "keyword": 0.5}, "depth": {"dense": 20, "keyword": 50}},
        {"weights": {"dense": 0.0}, "k": 2},
    ],
    ids=str,
)
def test_fusion_by_the_rules(shared, settings):
    hybrid_is_fused_from_its_lists(lambda: make(**settings))


def test_approximate_search_tells_its_recall(shared):
    with closing(make(exact=False)) as e:
        index(e, FEW)
        assert e.metadata()["exact"] is False
        assert e.metadata()["recall_against_exact"] == 1.0  # the emulation has no graph


def test_keyword_scores_are_those_of_qdrant_edge(shared, tmp_path):
    bm25 = {"k1": 0.9, "b": 0.4, "language": "english"}
    edge = QdrantEdgeSettings.model_validate({"bm25": bm25}).build(Resources(Cache(tmp_path)))
    with closing(edge), closing(make(bm25=bm25)) as server:
        index(edge)
        index(server)
        for query in QUERIES:
            expected = dict(edge.keyword(query, 500))
            assert dict(server.keyword(query, 500)) == pytest.approx(expected, rel=1e-4)
        assert server.metadata()["average_terms"] == edge.metadata()["average_terms"]


def test_requests_as_they_are_sent(proxy):
    vector = encode("running cat")
    weights = {"dense": 2.0, "keyword": 0.5}
    with closing(make(k=61, weights=weights, depth={"dense": 30, "keyword": 40})) as e:
        index(e, FEW)
        e.dense(vector, 3)
        e.keyword("cats the", 1000)
        e.hybrid("the cats", vector, 2)
        e.hybrid("the", vector, 2)
        assert e.keyword("the", 5) == []
    near, words, both, only = [it.json for it in proxy.asked if it.path.endswith("/query")]
    packed = {"nearest": pytest.approx(vector.tolist())}
    exact = {"exact": True}
    assert near == {
        "query": packed,
        "using": "dense",
        "params": exact,
        "limit": 4,  # one more than the answer shows whether the last of it ties
        "with_payload": False,
        "with_vector": False,
    }
    assert (words["using"], words["limit"]) == ("keyword", len(FEW))
    terms = words["query"]
    assert terms["nearest"]["values"] == [1.0]
    dense, keyword = both["prefetch"]
    assert dense == {"query": packed, "using": "dense", "params": exact, "limit": 30}
    assert keyword == {"query": terms, "using": "keyword", "limit": 40}
    assert both["query"] == {"rrf": {"k": 61, "weights": [2.0, 0.5]}}
    assert both["limit"] == 70  # no more can be fused, and no fewer are asked for
    assert only["prefetch"] == [dense]  # a query without a term has one list
    assert only["query"] == {"rrf": {"k": 61, "weights": [2.0]}}


def test_dbsf_and_graph_as_they_are_sent(proxy):
    with closing(make(fusion="dbsf", exact=False, m=8, ef_construct=50, ef=33)) as e:
        index(e, FEW)
        search(e)
    asked = [it.json for it in proxy.asked if it.path.endswith("/query")][-1]
    assert asked["query"] == {"fusion": "dbsf"}
    assert asked["prefetch"][0]["params"] == {"exact": False, "hnsw_ef": 33}
    with closing(make()) as e:
        index(e, FEW)
    graph, flat = [it.json for it in proxy.asked if it.method == "PUT" and "/points" not in it.path]
    assert graph["hnsw_config"] == {"m": 8, "ef_construct": 50, "full_scan_threshold": 10}
    assert flat["hnsw_config"]["m"] == 0
    assert graph["optimizers_config"] == {"indexing_threshold": 10}
    assert flat["optimizers_config"] == {"indexing_threshold": 0}
    for made in (graph, flat):
        assert made["vectors"] == {"dense": {"size": 32, "distance": "Cosine"}}
        assert made["sparse_vectors"] == {"keyword": {"modifier": "idf"}}
        assert made["shard_number"] == 1


def test_points_as_they_are_sent(proxy, monkeypatch):
    monkeypatch.setattr(QdrantStore, "rows_per_request", 3)
    with closing(make()) as e:
        vectors = index(e, FEW)
    updates = [
        it.json["points"]
        for it in proxy.asked
        if it.path.endswith("/points") and it.method == "PUT"
    ]
    assert sorted(map(len, updates)) == [2, 3]  # both are under way at once
    points = sorted(chain.from_iterable(updates), key=lambda point: point["id"])
    assert [point["id"] for point in points] == [0, 1, 2, 3, 4]
    assert points[2]["vector"]["dense"] == pytest.approx(vectors[2].tolist())
    assert ["keyword" in point["vector"] for point in points] == [True, True, True, False, False]


def test_a_collection_is_found_again_by_its_note(double):
    with closing(make()) as e:
        first = e.index(FEW, index(e, FEW), "hashing")
        name, facts = e.metadata()["index"], e.metadata()["average_terms"]
    client = double.client
    client.create_collection("somebody_elses", vectors_config={})
    client.create_collection(f"assay_{'2' * 16}_{'1' * 8}", vectors_config={})
    with closing(make(k=2)) as e:
        assert e.index(FEW, index(e, FEW), "hashing").cached == first.cached == ("engine",)
        assert (e.metadata()["index"], e.metadata()["average_terms"]) == (name, facts)
    with make()._settings.server() as server:
        (kept,) = server.list_stored()
        assert (kept.name, kept.texts) == (name, len(FEW))
        server.drop(name)
    assert len(client.get_collections().collections) == 2


def test_weights_that_qdrant_has_not():
    with pytest.raises(ValidationError, match="dbsf has no weights"):
        QdrantSettings.model_validate({"fusion": "dbsf", "weights": {"dense": 2.0}})
