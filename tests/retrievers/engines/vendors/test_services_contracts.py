"""What one vendor's store allows, and another's does not."""

from contextlib import closing

import numpy as np
import pytest
from doubles.contract_server import Reply
from tools.server_engines import one_line
from tools.vendor_engines import make_served, search

from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.services.retries import count_retries


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


def test_elasticsearch_answers_for_a_part(monkeypatch):
    chosen = make_served("elasticsearch")
    with chosen.serve(monkeypatch), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unstored = 2
        index(e, FEW)
        assert cost.retries == 1
        assert {position for position, _ in e.keyword("cats cat dog", 9)} == {0, 1, 2}
        chosen.double.shards_answering = 0
        assert "answered 503: answered for 0 of 1 shards (3 tries)" in one_line(lambda: search(e))


@pytest.mark.parametrize(
    ("name", "version", "settings", "problem"),
    [
        ("mongodb", "8.0.4", {"fusion": "score"}, "$scoreFusion needs 8.2 or later"),
        ("elasticsearch", "8.17.2", {"fusion": "linear"}, "linear with minmax needs 8.18"),
        ("qdrant", "1.9.3", {}, "fusion by weights needs 1.17 or later"),
        ("redis", 0, {}, "has no query engine; Redis 8 has one"),
        ("weaviate", "1.19.0", {}, "1.27"),
    ],
)
def test_a_server_that_is_too_old(name, version, settings, problem, monkeypatch):
    chosen = make_served(name)
    with chosen.serve(monkeypatch):
        chosen.double.version = version
        said = one_line(lambda: index(chosen.make(**settings), FEW))
        assert problem in said
        assert (f"{version} is too old: " in said) or name in ("redis", "weaviate")
        if name == "mongodb":  # whose other fusion has what it needs
            with closing(chosen.make()) as e:
                index(e, FEW)
                assert e.metadata()["version"] == "8.0.4"
        if name == "elasticsearch":
            chosen.double.compatible = (6, 7)
            said = one_line(lambda: index(chosen.make(), FEW))
            assert "it is older than the client, which is of version 8" in said
