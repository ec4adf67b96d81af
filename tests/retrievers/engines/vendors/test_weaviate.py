"""What is asked of Weaviate through its real client, and what is its own."""

import json
import struct
from contextlib import closing

import numpy as np
import pytest
from tools.server_engines import one_line

from assay.retrievers.engines.conformance.sample import TEXTS, encode, index
from assay.retrievers.engines.servers import collections
from assay.retrievers.engines.stores.weaviate import WeaviateStore

NAME = "weaviate"


def test_no_more_is_returned_than_a_list_is_deep_or_the_server_gives(double, make, monkeypatch):
    with closing(make()) as e:
        index(e)
        fused = e.hybrid("paragraph 17", encode("lantern"), 500)
        lists = e.lists("paragraph 17", encode("lantern"))
        assert len({position for found in lists for position, _ in found}) > 100
        assert len(fused) == len(e.formula.fuse(*lists)) == 100
        assert "the best 100" in e.formula.statement
        monkeypatch.setattr(WeaviateStore, "deepest", 9)
        for found in (e.dense(encode("winter"), 50), e.keyword("winter ferry", 50)):
            assert len(found) == 9
        assert [asked.limit for asked in double.requests("Search")[-2:]] == [9, 9]


@pytest.mark.parametrize(
    ("version", "restricts", "alpha"),
    [("1.30.1", False, False), ("1.32.9", False, None), ("1.33.0", True, None)],
)
def test_what_an_older_server_lacks(double, make, version, restricts, alpha):
    """Leaving out texts, from 1.33 on, and at first the parameter of alpha."""
    double.version = version
    with closing(make(alpha=0.25)) as e:
        index(e)
        e.hybrid("winter ferry", encode("winter ferry"), 5)
        assert e.metadata()["version"] == version
        assert (e.restrict(np.arange(3)) is not None) is restricts
    hybrid = double.requests("Search")[0].hybrid_search
    assert hybrid.fusion_type == hybrid.FUSION_TYPE_RANKED
    if alpha is False:
        assert (hybrid.use_alpha_param, hybrid.alpha) == (False, 0.25)


def test_queries_as_they_are_sent(double, make):
    vector = encode("winter ferry")
    with closing(
        make(fusion="relative_score", alpha=0.25, depth={"dense": 150, "keyword": 150})
    ) as e:
        index(e)
        e.dense(vector, 7)
        e.keyword('"winter" -ferry', 1000)
        e.hybrid("winter", vector, 3)
    near, words, both = double.requests("Search")
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


def test_collections_as_they_are_made(double, make):
    bm25 = {"k1": 0.9, "b": 0.4, "tokenization": "trigram", "stop_words": "none"}
    for settings in ({"bm25": bm25}, {"exact": False, "max_connections": 8, "ef_construction": 50}):
        with closing(make(**settings)) as e:
            given = index(e)
            assert e.metadata()["exact"] is settings.get("exact", True)
    batch = double.requests("BatchObjects")[-1]
    identifiers = [each.uuid for each in batch.objects]
    assert identifiers[:2] == [f"00000000-0000-8000-8000-00000000000{i}" for i in (0, 1)]
    assert identifiers == sorted(identifiers)
    packed = np.frombuffer(batch.objects[17].vector_bytes, np.float32)
    assert np.array_equal(packed, given[17])
    flat, graph = (collection.made for collection in double.indexes.values())
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


def test_vectors_that_wait_to_be_indexed_are_waited_for(double, make, monkeypatch):
    monkeypatch.setattr(collections, "PAUSE", 0.01)
    double.queue = [300, 7]
    with closing(make()) as e:
        index(e)
    assert double.queue == []
    monkeypatch.setattr(collections, "INDEXING_SECONDS", -1)
    double.queue = [9, 9]
    assert "did not finish indexing in time" in one_line(lambda: index(make(), ["one"]))


def test_a_grpc_port_where_nobody_listens(make, monkeypatch):
    monkeypatch.setenv("WEAVIATE_GRPC_PORT", "9")
    problem = one_line(lambda: index(make()))
    assert "cannot be reached: " in problem
    assert "gRPC, whose port WEAVIATE_GRPC_PORT names" in problem
    for value in ("secret", "70000"):
        monkeypatch.setenv("WEAVIATE_GRPC_PORT", value)
        problem = one_line(lambda: index(make()))
        assert problem.startswith("engine weaviate: WEAVIATE_GRPC_PORT is no port")
        assert "secret" not in problem


def test_what_is_somebody_elses_is_left(chosen, double):
    """One of an index that the client does not know makes the client's own list fail."""
    from doubles.weaviate import Collection

    whole = {"class": "Assay_of_somebody_else", "vectorConfig": {"v": "unknown"}}
    double.indexes[whole["class"]] = Collection(whole)
    with chosen.choose().server() as server:
        assert server.list_stored() == []
        for foreign in ("Assay_of_somebody_else", "assay_of_somebody_else"):
            problem = one_line(lambda name=foreign: server.drop(name))
            assert "no collection that Assay" in problem
    assert list(double.indexes) == ["Assay_of_somebody_else"]
