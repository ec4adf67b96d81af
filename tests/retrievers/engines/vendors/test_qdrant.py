"""What is asked of Qdrant through its real client, and what is its own."""

from contextlib import closing
from itertools import chain

import pytest

from assay.retrievers.engines.conformance.sample import FEW, QUERIES, encode, index
from assay.retrievers.engines.stores.qdrant import QdrantStore
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")


NAME = "qdrant"


def list_asked(double, end, method="POST"):
    """Return the bodies of the requests whose path ends so."""
    return [it.json for it in double.asked if it.method == method and it.path.endswith(end)]


def test_keyword_scores_are_those_of_qdrant_edge(make, tmp_path):
    bm25 = {"k1": 0.9, "b": 0.4, "language": "english"}
    edge = QdrantEdgeSettings.model_validate({"bm25": bm25}).build(Resources(Cache(tmp_path)))
    with closing(edge), closing(make(bm25=bm25)) as server:
        index(edge)
        index(server)
        for query in QUERIES:
            expected = dict(edge.keyword(query, 500))
            assert dict(server.keyword(query, 500)) == pytest.approx(expected, rel=1e-4)
        assert server.metadata()["average_terms"] == edge.metadata()["average_terms"]


def test_requests_as_they_are_sent(double, make):
    vector = encode("running cat")
    weights = {"dense": 2.0, "keyword": 0.5}
    with closing(make(k=61, weights=weights, depth={"dense": 30, "keyword": 40})) as e:
        index(e, FEW)
        e.dense(vector, 3)
        e.keyword("cats the", 1000)
        e.hybrid("the cats", vector, 2)
        e.hybrid("the", vector, 2)
        assert e.keyword("the", 5) == []
    near, words, both, only = list_asked(double, "/query")
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


def test_dbsf_and_graph_as_they_are_sent(double, make):
    with closing(make(fusion="dbsf", exact=False, m=8, ef_construct=50, ef=33)) as e:
        index(e, FEW)
        e.hybrid("running cat", encode("running cat"), 5)
    asked = list_asked(double, "/query")[-1]
    assert asked["query"] == {"fusion": "dbsf"}
    assert asked["prefetch"][0]["params"] == {"exact": False, "hnsw_ef": 33}
    with closing(make()) as e:
        index(e, FEW)
    graph, flat = [it for it in list_asked(double, "", "PUT") if "points" not in it]
    assert graph["hnsw_config"] == {"m": 8, "ef_construct": 50, "full_scan_threshold": 10}
    assert flat["hnsw_config"]["m"] == 0
    assert graph["optimizers_config"] == {"indexing_threshold": 10}
    assert flat["optimizers_config"] == {"indexing_threshold": 0}
    for made in (graph, flat):
        assert made["vectors"] == {"dense": {"size": 32, "distance": "Cosine"}}
        assert made["sparse_vectors"] == {"keyword": {"modifier": "idf"}}
        assert made["shard_number"] == 1


def test_points_as_they_are_sent(double, make, monkeypatch):
    monkeypatch.setattr(QdrantStore, "rows_per_request", 3)
    with closing(make()) as e:
        vectors = index(e, FEW)
    updates = [it["points"] for it in list_asked(double, "/points", "PUT")]
    assert sorted(map(len, updates)) == [2, 3]  # both are under way at once
    points = sorted(chain.from_iterable(updates), key=lambda point: point["id"])
    assert [point["id"] for point in points] == [0, 1, 2, 3, 4]
    assert points[2]["vector"]["dense"] == pytest.approx(vectors[2].tolist())
    assert ["keyword" in point["vector"] for point in points] == [True, True, True, False, False]
