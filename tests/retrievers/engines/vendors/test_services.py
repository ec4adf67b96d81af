"""Adapters of stores that vendors serve, through the vendors' clients: what all keep."""

import sys
from contextlib import closing
from functools import partial

import pytest
from tools.server_engines import index_at_once, one_line
from tools.vendor_engines import SERVICES, encode_all, make_served, search

from assay.retrievers.engines.conformance import RULES, hybrid_is_fused_from_its_lists
from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.engines.servers import collections as service_collections
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(shared, rule):
    rule.check(shared.make)


SHALLOW = {"dense": 20, "keyword": 20}
MORE_DENSE = {"dense": 3.0, "keyword": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("azure-ai-search", {"weight": 2.5, "depth": {"dense": 20, "keyword": 1000}}),
        ("azure-cosmos-nosql", {"weights": MORE_DENSE, "depth": SHALLOW}),
        ("mongodb", {"weights": MORE_DENSE, "depth": {"dense": 20}}),
        ("mongodb", {"weights": {"dense": 0.0}}),
        ("mongodb", {"fusion": "score", "weights": MORE_DENSE}),
        ("mongodb", {"fusion": "score", "normalisation": "sigmoid"}),
        ("mongodb", {"fusion": "score", "normalisation": "none", "weights": {"keyword": 0.0}}),
        ("elasticsearch", {"k": 7, "depth": SHALLOW}),
        ("elasticsearch", {"fusion": "linear", "weights": MORE_DENSE}),
        ("redis", {"k": 7.5, "depth": SHALLOW}),
        ("redis", {"fusion": "linear", "weights": MORE_DENSE}),
        ("qdrant", {"fusion": "dbsf"}),
        ("qdrant", {"weights": MORE_DENSE, "depth": {"dense": 20, "keyword": 50}}),
        ("qdrant", {"weights": {"dense": 0.0}, "k": 2}),
        ("weaviate", {"fusion": "relative_score", "alpha": 0.7}),
        ("weaviate", {"alpha": 0.9, "depth": {"dense": 110, "keyword": 110}}),
        ("weaviate", {"alpha": 0.0}),
        ("weaviate", {"alpha": 1.0, "fusion": "relative_score"}),
        ("weaviate", {"exact": False}),
    ],
    ids=str,
)
def test_fusion_by_the_rules(name, settings, monkeypatch):
    chosen = make_served(name)
    with chosen.serve(monkeypatch):
        hybrid_is_fused_from_its_lists(lambda: chosen.make(**settings))


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "pinecone"])
def test_approximate_search_tells_its_recall(name, monkeypatch):
    chosen = make_served(name)
    with chosen.serve(monkeypatch), closing(chosen.make(exact=False)) as e:
        index(e, FEW)
        assert e.metadata()["exact"] is False
        assert e.metadata()["recall_against_exact"] == 1.0  # the double has no graph


def test_a_whole_collection_is_found_again(served, monkeypatch):
    with closing(served.make()) as e:
        first = e.index(FEW, encode_all(FEW), "hashing")
        name = e.metadata()["index"]
        expected = search(e)
    with closing(served.make(timeout_seconds=4.0)) as e:
        second = e.index(FEW, encode_all(FEW), "hashing")
        assert e.metadata()["index"] == name
    assert (first.cached, second.cached) == ((), ("engine",))
    assert len(served.kept) == 1
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 0.02)
    served.double.lose_a_text()
    with closing(served.make()) as e:
        index(e, FEW)
        assert search(e) == expected
    assert len(served.kept) == 1


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"dimensions": 32', '"dimensions": 77', "77 dimensions, these have 32"),
        ('"identity": "hashing"', '"identity": "another"', "the vectors of another model"),
    ],
)
def test_a_collection_of_another_model_is_refused(served, old, new, problem):
    with closing(served.make()) as e:
        index(e, FEW)
    served.double.rewrite_note(old, new)
    assert problem in one_line(lambda: index(served.make(), FEW))


def test_two_that_index_at_once(served):
    index_at_once(served.make, FEW, search)


def test_the_slower_of_two_removes_its_own(served, monkeypatch):
    store = served.settings.store
    finish = store.finish

    def overtaken(self, name):
        monkeypatch.setattr(store, "finish", finish)
        with closing(served.make()) as faster:
            index(faster, FEW)
        finish(self, name)

    monkeypatch.setattr(store, "finish", overtaken)
    with closing(served.make()) as e:
        assert e.index(FEW, encode_all(FEW), "hashing").cached == ("engine",)
    assert len(served.kept) == 1


def test_what_is_stored_and_its_removal(served):
    with closing(served.make()) as e:
        index(e, FEW)
        name = e.metadata()["index"]
    served.double.rewrite_note('"complete": true', '"complete": false')
    with closing(served.make()) as e:
        index(e, FEW)
    with served.choose().server() as server:
        lost, kept = sorted(server.list_stored(), key=lambda each: each.texts)
        assert lost.name.startswith(f"{name}_")
        assert (lost.texts, kept.name, kept.texts) == (0, name, len(FEW))
        assert kept.created
        for foreign in ("somebody_elses", "../x", "notes"):
            assert "no collection that Assay" in one_line(partial(server.drop, foreign))
        for stored in (lost, kept, kept):
            server.drop(stored.name)
        assert server.list_stored() == []
    assert served.kept == set()


ADDRESSES = {
    "redis": "redis://127.0.0.1:9",
    "neo4j": "bolt://127.0.0.1:9",
    "mongodb": "mongodb://127.0.0.1:9",
    "sql-server": "sqlserver://127.0.0.1:9/x",
    "postgres": "postgresql://me@127.0.0.1:9/x",
}
SERVERS = [name for name, kind in ENGINES.types.items() if kind.capabilities.server]


@pytest.mark.parametrize("name", SERVERS)
def test_a_missing_extra(name, monkeypatch):
    kind = ENGINES.types[name]
    can, store = kind.capabilities, kind.store
    monkeypatch.setenv(can.address, ADDRESSES.get(name, "http://127.0.0.1:9"))
    for variable in filter(None, (store.key, store.user)):
        monkeypatch.setenv(variable, "secret")
    monkeypatch.setitem(sys.modules, can.modules[0], None)
    with closing(kind.model_validate({"type": name}).build(Resources(Cache(default_root())))) as e:
        problem = one_line(lambda: index(e, FEW))
        assert e.dense(encode("cat"), 5) == []
    assert problem == f"engine {name}: needs the extra `{can.extra}`: make extra NAME={can.extra}"
