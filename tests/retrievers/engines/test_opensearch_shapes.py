"""What is asked of OpenSearch for k-NN and hybrid search, and what is read from its answers.

No OpenSearch with these plugins runs here: indexes and BM25 are a real server's (osmem), vectors
and pipelines are answered as OpenSearch's documentation has it.
"""

import json
import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from doubles.opensearch_proxy import Proxy, Reply, fail
from tools.extras import skip_without

from assay.retrievers.base import AssayError
from assay.retrievers.engines.stores.opensearch import OpenSearchSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("opensearchpy", "opensearch")
osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")

SHAPES = Path(__file__).parents[2] / "samples/opensearch_shapes"
FUSION = json.loads((SHAPES / "fusion.json").read_text())
ANSWERS = json.loads((SHAPES / "answers.json").read_text())
TEXTS = [document["text"] for document in FUSION["documents"]]
VECTORS = np.array([document["vector"] for document in FUSION["documents"]], np.float32)
QUERY, VECTOR = FUSION["query"]["text"], np.array(FUSION["query"]["vector"], np.float32)
HNSW = {"method": "hnsw"}
GRAPH = {**HNSW, "engine": "faiss", "m": 8, "ef_construction": 40, "ef_search": 70}
WEIGHTS = {"dense": 0.7, "keyword": 0.3}


def name_pipeline(pipeline):
    return "-".join(map(str, pipeline["settings"].values()))


@pytest.fixture(scope="module")
def server():
    with osmem.OsmemServer.start(japanese=False) as running:
        yield running.url


def answer_hits(hits, **other):
    listed = [{"_index": "x", "_id": id_, "_score": score} for id_, score in hits]
    answer = ANSWERS["search"]["answer"]
    return Reply({**answer, "hits": {**answer["hits"], "hits": listed}, **other})


def replay(hybrid):
    """Answer searches of one list as the documentation does, and hybrid ones with `hybrid`."""

    def answer(asked):
        if not asked.path.endswith("/_search"):
            return None
        (kind,) = asked.json["query"]
        dense, keyword = FUSION["dense"], FUSION["keyword"]
        lists = {"knn": dense, "script_score": dense, "match": keyword, "hybrid": hybrid}
        return answer_hits(lists[kind][: asked.json["size"]])

    return answer


def find_creation(proxy):
    """Return what was asked when the index was created."""
    (body,) = [
        asked.json
        for asked in proxy.asked
        if asked.method == "PUT" and not asked.path.endswith("_mapping")
    ]
    return body


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENSEARCH_URL", "")


def open_engine(proxy, tmp_path, **settings):
    os.environ["OPENSEARCH_URL"] = proxy.url
    plain = {"bm25": {"analyzer": "standard"}, "retries": {"attempts": 1}, **settings}
    chosen = OpenSearchSettings.model_validate(plain)
    engine = chosen.build(Resources(Cache(tmp_path)))
    engine.index(TEXTS, VECTORS, "two dimensions")
    return engine


@pytest.mark.parametrize("pipeline", FUSION["pipelines"], ids=name_pipeline)
def test_documented_pipelines(server, pipeline, tmp_path):
    settings = {
        "fusion": pipeline["settings"],
        "knn": HNSW,
        "depth": {"dense": 3, "keyword": 10},
    }
    with Proxy(server, replay(pipeline["hits"])) as proxy:
        with closing(open_engine(proxy, tmp_path, **settings)) as engine:
            lists = engine.lists(QUERY, VECTOR)
            fused = engine.hybrid(QUERY, VECTOR, 10)
            assert engine.hybrid(QUERY, VECTOR, 2) == fused[:2]
        asked = proxy.searches()[-1]
    assert lists.keyword == [(1, 0.8167638), (2, 0.5356597)]
    documented = [(int(id_), score) for id_, score in pipeline["hits"]]
    assert fused == documented
    assert [i for i, _ in engine.formula.fuse(*lists)] == [i for i, _ in documented]
    assert dict(engine.formula.fuse(*lists)) == pytest.approx(dict(documented), abs=2e-7)
    knn = {"vector": {"vector": VECTOR.tolist(), "k": 3}}
    match = {"text": {"query": QUERY, "operator": "or"}}
    assert asked == {
        "size": 13,
        "_source": False,
        "query": {"hybrid": {"queries": [{"knn": knn}, {"match": match}], "pagination_depth": 10}},
        "search_pipeline": {"phase_results_processors": [pipeline["processor"]]},
    }


@pytest.mark.parametrize("knn", [{}, GRAPH], ids=["exact", "graph"])
def test_search_by_a_script_or_a_graph(server, tmp_path, knn):
    with Proxy(server, replay([])) as proxy:
        with closing(open_engine(proxy, tmp_path, knn=knn)) as engine:
            found = engine.dense(VECTOR, 2)
            facts = engine.metadata()
        created, asked = find_creation(proxy), proxy.searches()[-1]
    index, vector = created["settings"]["index"], created["mappings"]["properties"]["vector"]
    assert index["similarity"]["default"] == {"type": "BM25", "k1": 1.2, "b": 0.75}
    assert facts["exact"] is (not knn)
    if knn:
        assert index["knn"] is True
        assert vector["method"] == {
            "name": "hnsw", "engine": "faiss", "space_type": "cosinesimil",
            "parameters": {"m": 8, "ef_construction": 40},
        }  # fmt: skip
        assert asked["query"]["knn"]["vector"] == {
            "vector": VECTOR.tolist(), "k": 100, "method_parameters": {"ef_search": 70},
        }  # fmt: skip
        assert 0 < facts["recall_against_exact"] < 1  # of five texts the answers name three
        return
    params = {"field": "vector", "query_value": VECTOR.tolist(), "space_type": "cosinesimil"}
    script = {"source": "knn_score", "lang": "knn", "params": params}
    assert asked == {
        "size": 3,  # one more than the answer shows whether the last of it ties
        "_source": False,
        "track_total_hits": False,
        "query": {"script_score": {"query": {"match_all": {}}, "script": script}},
    }
    listed = [2 * score - 1 for _, score in FUSION["dense"][:2]]
    assert found == [(2, pytest.approx(listed[0])), (3, pytest.approx(listed[1]))]
    assert "recall_against_exact" not in facts
    assert vector == {"type": "knn_vector", "dimension": 2}
    assert "knn" not in index


def test_weights_are_sent_in_the_order_of_the_lists(server, tmp_path):
    with Proxy(server, replay([["2", 0.4], ["1", 0.0]])) as proxy:
        for fusion in ({"type": "rrf", "weights": WEIGHTS},
                       {"type": "normalisation", "weights": WEIGHTS}):  # fmt: skip
            with closing(open_engine(proxy, tmp_path, fusion=fusion)) as engine:
                assert engine.hybrid(QUERY, VECTOR, 10) == [(2, 0.4)]
                assert "dense 0.7, keyword 0.3" in engine.formula.statement
            (processor,) = proxy.searches()[-1]["search_pipeline"]["phase_results_processors"]
            (told,) = processor.values()
            assert told["combination"]["parameters"] == {"weights": [0.7, 0.3]}
            first, second = proxy.searches()[-1]["query"]["hybrid"]["queries"]
            assert ("script_score" in first, "match" in second) == (True, True)


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("knn_missing", "opensearch-knn"),
        ("knn_setting_missing", "opensearch-knn"),
        ("hybrid_missing", "opensearch-neural-search"),
    ],
)
def test_a_missing_plugin_is_named(server, name, plugin, tmp_path):
    shape = ANSWERS[name]

    def answer(asked):
        i = "_search" if name == "hybrid_missing" else "PUT"
        told = asked.path.endswith(i) or asked.method == i
        return Reply(shape["answer"], shape["status"]) if told else None

    def use():
        k1 = 1 + len(name) / 100  # an index of its own
        open_engine(proxy, tmp_path, bm25={"k1": k1}).hybrid(QUERY, VECTOR, 10)

    with Proxy(server, answer) as proxy, pytest.raises(AssayError) as caught:
        use()
    assert f"seems to lack the plugin {plugin}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("told", "settings", "problem"),
    [
        ({"number": "2.17.1"}, {}, "2.17.1 is too old: rrf needs 2.19"),
        ({"number": "2.19.3"}, {"fusion": {"type": "rrf", "rank_constant": 10}}, "needs 3.1"),
        ({"number": "3.0.0"}, {"fusion": {"type": "rrf", "weights": WEIGHTS}}, "weights needs 3.1"),
        ({"number": "2.19.0"},
         {"fusion": {"type": "normalisation", "normalisation": "z_score"}}, "z_score needs 3.0"),
        ({"number": "2.19.1", "build_type": "zip"},
         {"knn": {"method": "hnsw", "engine": "faiss"}}, "faiss needs the native libraries of"),
        ({"number": "8.15.0", "distribution": None}, {}, "is no OpenSearch"),
    ],
)  # fmt: skip
def test_versions_that_cannot_do_it(server, told, settings, problem, tmp_path):
    version = {"distribution": "opensearch", **told}

    def answer(asked):
        nodes = {"nodes": {"a": {"os": {"name": "Linux"}}}}
        told = {"/": {"version": version}, "/_nodes/_local/os": nodes}
        return Reply(told[asked.path]) if asked.path in told else None

    with Proxy(server, answer) as proxy, pytest.raises(AssayError, match=problem):
        open_engine(proxy, tmp_path, **settings)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (answer_hits([["2", 0.3], ["1", -9549511920.0]]), "the search pipeline was not run"),
        (answer_hits([["2", 0.3]], timed_out=True), "503: the search ran out of time"),
        (answer_hits([["Zx81", 0.3]]), "answered what no OpenSearch answers"),
        (Reply({"took": 3}), "answered what no OpenSearch answers"),
        (Reply("[]"), "answered what no OpenSearch answers"),
        (fail(400, "too_many_clauses", "maxClauseCount is set to 1024"), "maxClauseCount"),
    ],
)
def test_answers_that_are_none(server, reply, problem, tmp_path):
    def answer(asked):
        return reply if asked.path.endswith("_search") else None

    with Proxy(server, answer) as proxy, closing(open_engine(proxy, tmp_path)) as engine:
        with pytest.raises(AssayError, match=problem) as caught:
            engine.hybrid(QUERY, VECTOR, 5)
        assert "\n" not in str(caught.value)
