"""Redis' adapter through its real client, against a server that keeps the contract."""

from contextlib import closing

import pytest
from pydantic import ValidationError
from tools.server_engines import one_line

pytest.importorskip("redis", reason="needs the extra `redis`")

from doubles.redis import PASSWORD, RedisDouble, Said

from assay.retrievers.engines.conformance import RULES, hybrid_is_fused_from_its_lists
from assay.retrievers.engines.conformance.sample import FEW, encode, index, search_fully
from assay.retrievers.engines.servers import collections as service_collections
from assay.retrievers.engines.stores.redis import RedisSettings, WeightedScores
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root


@pytest.fixture(scope="module")
def double():
    double = RedisDouble()
    with double.serve() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", url)
        patch.setenv("REDIS_PASSWORD", PASSWORD)
        patch.setattr(service_collections, "PAUSE", 0.001)
        yield double


@pytest.fixture(autouse=True)
def behave(double):
    yield
    double.fault, double.version, double.warnings = lambda _: None, 80400, ()


def choose(**settings):
    quick = {"retries": {"attempts": 3, "pause": 0.001}, "timeout_seconds": 5.0}
    return RedisSettings.model_validate(quick | settings)


def make(**settings):
    return choose(**settings).build(Resources(Cache(default_root())))


def misbehave(double, part, said, times=99):
    left = [said] * times
    double.fault = lambda told: left.pop() if told[0] == part and left else None


def search(engine):
    return search_fully(engine, "running cat", 5)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(double, rule):
    rule.check(make)


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 7.5, "depth": {"dense": 20, "keyword": 20}},
        {"fusion": "linear", "weights": {"dense": 3.0, "keyword": 0.5}},
    ],
    ids=str,
)
def test_fusion_by_the_rules(double, settings):
    hybrid_is_fused_from_its_lists(lambda: make(**settings))


def test_a_graph_tells_its_recall(double):
    with closing(make(exact=False)) as e:
        index(e, FEW)
        assert e.metadata()["recall_against_exact"] == 1.0  # the double has no graph


def test_a_server_before_hybrid_search_has_its_lists(double):
    double.version = 80002
    with closing(make()) as e:
        index(e, FEW)
        assert e.metadata()["version"] == "8.0.2"
        assert [position for position, _ in e.keyword("dog", 3)] == [1]
        assert len(e.dense(encode("cat"), 3)) == 3
        problem = one_line(lambda: search(e))
    assert "8.0.2 is too old: FT.HYBRID needs 8.4 or later; `assay run hybrid --" in problem


def test_a_server_without_query_engine(double):
    double.version = 0
    assert "has no query engine; Redis 8 has one" in one_line(lambda: index(make(), FEW))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Said("-LOADING Redis is loading the dataset in memory\r\n"), "answered 503: "),
        (Said(None), "cannot be reached: "),
        (Said("+\r\n", seconds=0.5), "no answer within 0.3 s"),
    ],
    ids=["busy", "half", "late"],
)
def test_what_passes_is_asked_again(double, said, told):
    with closing(make(timeout_seconds=0.3)) as e, count_retries() as cost:
        index(e, FEW)
        expected = search(e)
        misbehave(double, "FT.HYBRID", said, times=1)
        assert search(e) == expected
        assert cost.retries == 1
        misbehave(double, "FT.HYBRID", said)
        problem = one_line(lambda: search(e))
        assert told in problem
        assert "(3 tries)" in problem


def test_what_is_no_answer(double):
    with closing(make()) as e:
        index(e, FEW)
        misbehave(double, "FT.HYBRID", Said("*1\r\n+what\r\n"))
        assert "answered what no Redis answers" in one_line(lambda: search(e))
        double.fault = lambda _: None
        double.warnings = ("Timeout limit was reached",)
        assert "answered what no Redis answers" in one_line(lambda: search(e))


def test_what_fails_half_way_leaves_nothing(double):
    before = set(double.indexes)
    full = Said("-OOM command not allowed when used memory > 'maxmemory'.\r\n")
    double.fault = lambda told: full if told[0] == "HSET" and told[-2] == "vector" else None
    problem = one_line(lambda: index(make(), ("one", "two")))
    assert "answered: command not allowed when used memory" in problem
    assert set(double.indexes) == before


def test_a_fresh_index_is_waited_for(double):
    double.unindexed = 3
    with closing(make()) as e:
        index(e, ("three", "four"))
        assert double.unindexed == 0
        name = e.metadata()["index"]
    with choose().server() as server:
        assert name in {stored.name for stored in server.list_stored()}
        server.drop(name)
        assert name not in {stored.name for stored in server.list_stored()}


def test_keys_and_addresses(double, monkeypatch):
    monkeypatch.setenv("REDIS_PASSWORD", "wrong-key")
    problem = one_line(lambda: index(make(), FEW))
    assert "refuses the key (401); set REDIS_PASSWORD to one that it knows" in problem
    assert "wrong-key" not in problem
    for value in ("", "redis://me:s3cret@host", "http://host", "redis://host/0?password=s3cret"):
        monkeypatch.setenv("REDIS_URL", value)
        problem = one_line(lambda: index(make(), FEW))
        assert problem.startswith("engine redis: set REDIS_URL")
        assert "s3cret" not in problem


def test_settings_that_redis_does_not_have():
    with pytest.raises(ValidationError, match="make both the same"):
        choose(depth={"dense": 50})
    with pytest.raises(ValidationError, match="rrf has no weights here"):
        choose(weights={"dense": 2.0})
    fused = WeightedScores((2.0, 0.5)).fuse([(1, 0.5), (2, 0.0)], [(2, 3.0)])
    assert dict(fused) == pytest.approx({1: 1.5, 2: 2.5})
