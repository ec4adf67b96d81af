"""What goes wrong with a Weaviate server, produced on purpose in a double of it."""

import json
from contextlib import closing

import pytest
from doubles.opensearch_proxy import Proxy, Reply
from tools.server_engines import make_weaviate as make
from tools.server_engines import one_line

pytest.importorskip("weaviate", reason="needs the extra `weaviate`")

import grpc
from doubles.weaviate import Call, Fault

from assay.retrievers.engines.conformance.sample import TEXTS, encode, index
from assay.retrievers.services.retries import count_retries

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def search(engine):
    return engine.hybrid("winter ferry", encode("winter ferry"), 5)


def failing(status, *methods, times=99):
    """Return a fault of the first calls of these methods from now on."""
    left = [times]

    def fault(call: Call) -> Fault | None:
        if call.method not in methods or not left[0]:
            return None
        left[0] -= 1
        return Fault(status)

    return fault


def test_an_unavailable_server_is_asked_again(engine, double):
    expected = search(engine)
    asked = len(double.asked("Search"))
    double.fault = failing(UNAVAILABLE, "Search", times=2)
    with count_retries() as cost:
        assert search(engine) == expected
    # The client's own retries would pause for three seconds, and be counted as search.
    assert cost.retries == 2
    assert cost.milliseconds > 0
    assert len(double.asked("Search")) == asked + 3


def test_a_batch_is_sent_again(double):
    double.fault = failing(grpc.StatusCode.RESOURCE_EXHAUSTED, "BatchObjects", times=1)
    with closing(make()) as e, count_retries() as cost:
        index(e)
        assert cost.retries == 1
        assert len(e.keyword("paragraph", 500)) == len(TEXTS)


def test_an_answer_that_takes_too_long(engine, double):
    slow = make(timeout_seconds=0.3)
    with closing(slow):
        index(slow)
        number = len(double.asked("Search"))
        double.fault = lambda call: Fault(seconds=0.5) if call.number == number else None
        with count_retries() as cost:
            assert search(slow)
        assert cost.retries == 1
        assert cost.milliseconds > 250
        double.fault = lambda call: Fault(seconds=0.5)
        assert "no answer within 0.3 s (3 tries)" in one_line(lambda: search(slow))


def test_wrong_keys(double, monkeypatch):
    double.key = "right-key"
    for key in ("", "wrong-key"):
        monkeypatch.setenv("WEAVIATE_API_KEY", key)
        problem = one_line(lambda: index(make()))
        assert "set WEAVIATE_API_KEY to one that it knows" in problem
        assert "-key" not in problem
    monkeypatch.setenv("WEAVIATE_API_KEY", "right-key")
    with closing(make()) as e:
        index(e)
        assert search(e)
        assert "right-key" not in json.dumps(dict(e.metadata()))
        double.fault = failing(grpc.StatusCode.UNAUTHENTICATED, "Search")
        assert "refuses the key (401)" in one_line(lambda: search(e))
        assert len(double.asked("Search")) == 2  # nothing that would pass


def test_garbage(engine, double, monkeypatch):
    double.fault = lambda call: Fault(content=b"\xff\xffgarbage")
    assert "answered: INTERNAL: " in one_line(lambda: search(engine))
    double.fault = lambda call: None
    for path in ("/v1/meta", "/v1/schema"):
        for body in ("<html>garbage", "[]", "{}", '{"classes": 7, "version": 8}'):

            def answer(asked, path=path, body=body):
                return Reply(body) if asked.path == path else None

            with Proxy(double.url, answer) as proxy:
                monkeypatch.setenv("WEAVIATE_URL", proxy.url)
                assert "answered what no Weaviate answers" in one_line(lambda: index(make()))


def test_statuses_over_rest(double, monkeypatch):
    def answer(asked):
        failed = {("GET", "/v1/meta"): (2, 503), ("POST", "/v1/schema"): (9, 422)}
        times, status = failed.get((asked.method, asked.path), (0, 0))
        return Reply({"error": "no\nroom"}, status) if asked.number < times else None

    with Proxy(double.url, answer) as proxy, count_retries() as cost:
        monkeypatch.setenv("WEAVIATE_URL", proxy.url)
        assert "answered 422: {'error': 'no\\nroom'}" in one_line(lambda: index(make()))
        assert cost.retries == 2


def test_texts_that_are_not_stored(double):
    double.refused = (TEXTS[3], TEXTS[7])
    problem = one_line(lambda: index(make()))
    assert "2 texts were not stored, the first for: no space left on device" in problem
    double.refused = TEXTS
    assert "120 texts were not stored" in one_line(lambda: index(make()))
    assert double.collections == {}


def test_a_grpc_port_where_nobody_listens(double, monkeypatch):
    monkeypatch.setenv("WEAVIATE_GRPC_PORT", "9")
    problem = one_line(lambda: index(make()))
    assert "cannot be reached: " in problem
    assert "gRPC, whose port WEAVIATE_GRPC_PORT names" in problem
    for value in ("secret", "70000"):
        monkeypatch.setenv("WEAVIATE_GRPC_PORT", value)
        problem = one_line(lambda: index(make()))
        assert problem.startswith("engine weaviate: WEAVIATE_GRPC_PORT is no port")
        assert "secret" not in problem
