"""What goes wrong with a Qdrant server, produced on purpose before a double of it."""

import json
from contextlib import closing

import pytest
from doubles.opensearch_proxy import Reply
from tools.server_engines import make_qdrant as make
from tools.server_engines import one_line

pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")

from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.services.retries import count_retries

GARBAGE = "<html>garbage"


def search(engine):
    return engine.hybrid("running cat", encode("running cat"), 5)


def answering(reply, suffix, times=99):
    """Return an answer to the first requests from now on whose path ends so."""
    left = [times]

    def answer(asked):
        if not asked.path.endswith(suffix) or not left[0]:
            return None
        left[0] -= 1
        return reply

    return answer


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(proxy, status):
    with closing(make()) as e, count_retries() as cost:
        proxy.answer = answering(Reply({"status": {"error": "busy"}}, status), "/points", times=1)
        index(e, FEW)
        assert cost.retries == 1
        expected = search(e)
        proxy.answer = answering(Reply({}, status), "/points/query", times=2)
        assert search(e) == expected
        assert cost.retries == 3
        proxy.answer = answering(Reply({"status": {"error": "bu\nsy"}}, status), "/query")
        assert f"answered {status}: bu sy (3 tries)" in one_line(lambda: search(e))


def test_an_answer_that_takes_too_long(proxy):
    with closing(make(timeout_seconds=1)) as e:
        index(e, FEW)
        proxy.answer = answering(Reply({}, seconds=1.2), "/points/query", times=1)
        with count_retries() as cost:
            assert search(e)
        assert cost.retries == 1
        assert cost.milliseconds > 900
        proxy.answer = answering(Reply({}, seconds=1.2), "/points/query")
    with closing(make(timeout_seconds=1, retries={"attempts": 1})) as e:
        index(e, FEW)
        assert "no answer within 1 s" in one_line(lambda: search(e))


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_wrong_keys(double, monkeypatch):
    double.key = "right-key"
    for key in ("", "wrong-key"):
        monkeypatch.setenv("QDRANT_API_KEY", key)
        problem = one_line(lambda: index(make(), FEW))
        assert "refuses the key (401); set QDRANT_API_KEY to one that it knows" in problem
        assert "-key" not in problem
    monkeypatch.setenv("QDRANT_API_KEY", "right-key")
    with closing(make()) as e:
        index(e, FEW)
        assert search(e)
        assert "right-key" not in json.dumps(dict(e.metadata()))


@pytest.mark.parametrize("path", ["/", "/collections", "/points/query"])
@pytest.mark.parametrize("body", [GARBAGE, "[]", "{}", '{"result": 7}'])
def test_garbage(proxy, path, body):
    def act():
        with closing(make()) as e:
            index(e, FEW)
            search(e)

    proxy.answer = answering(Reply(body), path)
    assert "answered what" in one_line(act)


def test_a_refused_request_leaves_nothing(proxy, double):
    for path in ("/points", "/points/count"):
        proxy.answer = answering(Reply({"status": {"error": "disk is full"}}, 500), path)
        assert "answered 500: disk is full" in one_line(lambda: index(make(), FEW))
        assert double.client.get_collections().collections == []


def test_a_server_that_is_too_old(double):
    double.version = "1.9.3"
    assert "1.9.3 is too old: fusion by weights needs 1.17 or later" in one_line(
        lambda: index(make(), FEW)
    )
