"""What one vendor's store allows, and another's does not."""

from contextlib import closing

import numpy as np
import pytest
from doubles.contract_server import Reply
from pydantic import ValidationError
from tools.server_engines import one_line
from tools.vendor_engines import make_served, search

from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.engines.formulas import ReciprocalRanks
from assay.retrievers.engines.stores.azure_cosmos_nosql import UnitedRanks
from assay.retrievers.engines.stores.elasticsearch import sum_linear
from assay.retrievers.engines.stores.mongodb import average_scores
from assay.retrievers.services.retries import count_retries


@pytest.mark.parametrize(
    ("name", "ask", "reason"),
    [
        ("pinecone", lambda it, name: _ask_pinecone(it, name, [0.1] * 31), "dimension"),
        (
            "azure-ai-search",
            lambda it, name: list(it.open_index(name).search("ferry*", search_fields=["text"])),
            "an operator",
        ),
        (
            "azure-ai-search",
            lambda it, name: list(it.open_index(name).search(select=["vector"])),
            "cannot be retrieved",
        ),
        (
            "azure-cosmos-nosql",
            lambda it, name: list(
                it.open_container(name).query_items(
                    'SELECT TOP 9 FullTextScore(c.text, "dog") FROM c', partition_key="texts"
                )
            ),
            "Syntax error",
        ),
        (
            "mongodb",
            lambda it, name: _aggregate(it, name, {"$vectorSearch": {**NEAR, "exact": False}}),
            "numCandidates",
        ),
        (
            "mongodb",
            lambda it, name: _aggregate(
                it, name, {"$rankFusion": {"input": {"pipelines": {"a": [{"$project": {}}]}}}}
            ),
            "no selection pipeline",
        ),
    ],
)
def test_the_contract_is_kept(name, ask, reason, monkeypatch):
    """What a reference does not allow is refused, so that an adapter cannot ask it."""
    chosen = make_served(name)
    with (
        chosen.serve(monkeypatch),
        closing(chosen.make()) as e,
        closing(chosen.connect()) as it,
    ):
        index(e, FEW)
        (kept,) = chosen.kept
        problem = one_line(lambda: it.ask(lambda: ask(it, kept)))
    assert "answered " in problem
    assert reason in problem


NEAR = {"index": "vectors", "path": "vector", "queryVector": [0.1] * 32, "limit": 3}


def _ask_pinecone(connection, name, values):
    clause = {"type": "dense_vector", "field": "vector", "values": values}
    found = connection.open_index(name).documents
    return found.search(namespace="texts", score_by=[clause], top_k=3)


def _aggregate(connection, name, stage):
    return list(connection.database[name].aggregate([stage]))


def test_documents_that_azure_takes_only_later(monkeypatch):
    chosen = make_served("azure-ai-search")
    with chosen.serve(monkeypatch), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unstored = 2
        index(e, FEW)
        assert cost.retries == 1
        assert {position for position, _ in e.keyword("cats cat dog", 9)} == {0, 1, 2}


def test_a_container_that_is_made_and_indexed_only_later(monkeypatch):
    chosen = make_served("azure-cosmos-nosql")
    unmade = Reply({"message": "being made"}, 404, {"x-ms-substatus": "1013"})
    left = [unmade, unmade]
    with chosen.serve(monkeypatch), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unindexed = 3
        chosen.double.fault = lambda asked: (
            left.pop() if left and "batch" in chosen.double.name(asked) else None
        )
        index(e, FEW)
        assert (chosen.double.unindexed, cost.retries) == (0, 2)


def test_lists_of_cosmos_that_come_in_pages(monkeypatch):
    """Its client reads the first page of what it ranks: what goes on there is no answer."""
    chosen = make_served("azure-cosmos-nosql")
    with chosen.serve(monkeypatch), closing(chosen.make()) as e:
        index(e, FEW)
        chosen.double.page = 2
        assert len(e.dense(encode("cat"), 5)) == 5
        for ask in (lambda: search(e), lambda: e.keyword("the cats cat", 5)):
            assert "a ranked list came in several pages (3 tries)" in one_line(ask)


def test_vectors_of_cosmos_that_no_flat_index_holds(monkeypatch):
    chosen = make_served("azure-cosmos-nosql")
    long = np.eye(2, 506, dtype=np.float32)
    with chosen.serve(monkeypatch), closing(chosen.make()) as e:
        e.index(("one", "two"), long, "long")
        assert e.dense(long[1], 1) == [(1, 1.0)]
        (container,) = chosen.double.indexes.values()
        (kept,) = container.made["indexingPolicy"]["vectorIndexes"]
        assert kept["type"] == "quantizedFlat"


def test_ranks_of_cosmos():
    fused = UnitedRanks(60, (1.0, 2.0)).fuse([(1, 0.9), (2, 0.5), (3, 0.5)], [(2, 4.0), (4, 4.0)])
    expected = {1: 1 / 61 + 2 / 62, 2: 1 / 62 + 2 / 61, 3: 3 / 62, 4: 1 / 63 + 2 / 61}
    assert dict(fused) == pytest.approx(expected)


def test_an_old_mongodb(monkeypatch):
    chosen = make_served("mongodb")
    with chosen.serve(monkeypatch):
        chosen.double.version = "8.0.4"
        with closing(chosen.make()) as e:
            index(e, FEW)
            assert e.metadata()["version"] == "8.0.4"
        problem = one_line(lambda: index(chosen.make(fusion="score"), FEW))
        assert "8.0.4 is too old: $scoreFusion needs 8.2 or later" in problem


def test_elasticsearch_with_a_basic_licence(monkeypatch):
    chosen = make_served("elasticsearch")
    chosen.double.licence = "basic"
    with chosen.serve(monkeypatch), closing(chosen.make()) as e:
        index(e, FEW)
        assert [position for position, _ in e.keyword("dog", 3)] == [1]
        problem = one_line(lambda: search(e))
        assert "its licence lacks Reciprocal Rank Fusion (RRF)" in problem
        assert "without one fuse here, as the config hybrid_rrf does" in problem
    with chosen.serve(monkeypatch), closing(chosen.make(fusion="linear")) as e:
        index(e, FEW)
        assert "its licence lacks linear retriever" in one_line(lambda: search(e))


def test_an_old_elasticsearch(monkeypatch):
    chosen = make_served("elasticsearch")
    with chosen.serve(monkeypatch):
        chosen.double.version = "8.17.2"
        problem = one_line(lambda: index(chosen.make(fusion="linear"), FEW))
        assert "8.17.2 is too old: the retriever linear with minmax needs 8.18" in problem
        chosen.double.compatible = (6, 7)
        problem = one_line(lambda: index(chosen.make(), FEW))
        assert "it is older than the client, which is of version 8" in problem


def test_elasticsearch_answers_for_a_part(monkeypatch):
    chosen = make_served("elasticsearch")
    with chosen.serve(monkeypatch), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unstored = 2
        index(e, FEW)
        assert cost.retries == 1
        assert {position for position, _ in e.keyword("cats cat dog", 9)} == {0, 1, 2}
        chosen.double.shards_answering = 0
        assert "answered 503: answered for 0 of 1 shards (3 tries)" in one_line(lambda: search(e))


def test_linear_scores_of_elasticsearch():
    dense, keyword = [(3, 0.8), (1, 0.4), (2, 0.0)], [(1, 7.0)]
    fused = dict(sum_linear((2.0, 0.5)).fuse(dense, keyword))
    assert fused == pytest.approx({3: 2.0, 1: 1.0 + 3.5, 2: 0.0})
    assert sum_linear((1.0, 1.0)).fuse([], []) == []


def test_formulas_of_mongodb():
    keyword = [(4, 3.0), (5, 3.0), (6, 1.0)]
    ranks = dict(ReciprocalRanks(k=60, weights=(1.0, 2.0), shared=True).fuse([(4, 0.9)], keyword))
    assert ranks == pytest.approx({4: 3 / 61, 5: 2 / 61, 6: 2 / 63})
    scaled = dict(average_scores("minMaxScaler", (2.0, 1.0)).fuse([(4, 0.5), (7, 0.1)], keyword))
    assert scaled == pytest.approx({4: 1.5, 5: 0.5, 6: 0.0, 7: 0.0})
    plain = dict(average_scores("none", (1.0, 0.0)).fuse([(4, 0.5)], keyword))
    assert plain == pytest.approx({4: 0.375})


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("azure-ai-search", {"depth": {"keyword": 100}}, "fuses 1000 texts of the keyword list"),
        ("azure-ai-search", {"m": 11}, "less than or equal to 10"),
        ("azure-cosmos-nosql", {"depth": {"dense": 50}}, "make both the same"),
        ("azure-cosmos-nosql", {"depth": {"dense": 2000, "keyword": 2000}}, "1000 texts at most"),
        ("azure-cosmos-nosql", {"weights": {"dense": 0, "keyword": 0}}, "one of dense"),
        ("mongodb", {"weights": {"dense": 0, "keyword": 0}}, "one of dense and keyword"),
        ("mongodb", {"depth": {"dense": 20_000}}, "10000 vectors at most"),
        ("elasticsearch", {"depth": {"dense": 50}}, "make both the same"),
        ("elasticsearch", {"weights": {"dense": 2.0}}, "rrf has no weights here"),
    ],
)
def test_settings_that_a_service_does_not_allow(name, settings, problem):
    with pytest.raises(ValidationError, match=problem):
        make_served(name).choose(**settings)
