"""What is Redis' own: versions of its query engine, and answers that warn."""

from contextlib import closing

import pytest
from pydantic import ValidationError
from tools.server_engines import one_line
from tools.vendor_engines import make_served, search

from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.engines.stores.redis import RedisSettings, sum_weighted


@pytest.fixture
def redis(monkeypatch):
    chosen = make_served("redis")
    with chosen.serve(monkeypatch):
        yield chosen


def test_a_server_before_hybrid_search_has_its_lists(redis):
    redis.double.version = 80002
    with closing(redis.make()) as e:
        index(e, FEW)
        assert e.metadata()["version"] == "8.0.2"
        assert [position for position, _ in e.keyword("dog", 3)] == [1]
        assert len(e.dense(encode("cat"), 3)) == 3
        problem = one_line(lambda: search(e))
    assert "8.0.2 is too old: FT.HYBRID needs 8.4 or later; `assay run hybrid --" in problem


def test_a_server_without_query_engine(redis):
    redis.double.version = 0
    assert "has no query engine; Redis 8 has one" in one_line(lambda: index(redis.make(), FEW))


def test_an_answer_that_warns_is_none(redis):
    redis.double.warnings = ("Timeout limit was reached",)
    with closing(redis.make()) as e:
        index(e, FEW)
        assert "answered what no Redis answers" in one_line(lambda: search(e))


def test_settings_that_redis_does_not_have():
    with pytest.raises(ValidationError, match="make both the same"):
        RedisSettings.model_validate({"depth": {"dense": 50}})
    with pytest.raises(ValidationError, match="rrf has no weights here"):
        RedisSettings.model_validate({"weights": {"dense": 2.0}})
    fused = sum_weighted((2.0, 0.5)).fuse([(1, 0.5), (2, 0.0)], [(2, 3.0)])
    assert dict(fused) == pytest.approx({1: 1.5, 2: 2.5})
