"""What goes wrong with a Qdrant server, produced on purpose before a double of it."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest
from doubles.opensearch_proxy import Asked, Reply
from tools.server_engines import make_qdrant as make
from tools.server_engines import one_line, run_double

pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")


from assay.retrievers.base import Quiet, T
from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.engines.qdrant import collection as qdrant_collection
from assay.retrievers.engines.qdrant.engine import QdrantSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

GARBAGE = "<html>garbage"


def search(engine):
    return engine.hybrid("running cat", encode("running cat"), 5)


def answering(reply, suffix, times=99):
    """Return an answer to the first requests from now on whose path ends so."""
    left = [times]

    def answer(asked: Asked) -> Reply | None:
        if not asked.path.endswith(suffix) or not left[0]:
            return None
        left[0] -= 1
        return reply

    return answer


@pytest.mark.parametrize("status", [429, 502, 503, 504])
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


class Told(Quiet):
    """Notes what is tracked."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        self.lines.append((what, total))
        yield from items


def test_points_are_sent_by_their_bytes_and_what_remains_is_told(proxy, monkeypatch):
    # A vector of 32 dimensions may take 800 bytes, and each letter 10.
    monkeypatch.setattr(qdrant_collection, "BYTES_PER_UPDATE", 2000)
    told = Told()
    with closing(QdrantSettings(type="qdrant").build(Resources(Cache(default_root()), told))) as e:
        index(e, ("a dog", "a cat", "b " * 200, "c", "d", "e"))
        assert [position for position, _ in e.keyword("dog", 5)] == [0]
    updates = [asked.json["points"] for asked in proxy.asked if asked.path.endswith("/points")]
    sent = sorted([point["id"] for point in points] for points in updates)
    assert sent == [[0, 1], [2], [3, 4], [5]]
    assert told.lines == [("qdrant: storing texts", 6)]


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


@pytest.mark.parametrize("path", ["/", "/aliases", "/points/query"])
@pytest.mark.parametrize("body", [GARBAGE, "[]", "{}", '{"result": 7}'])
def test_garbage(proxy, path, body):
    def act() -> None:
        with closing(make()) as e:
            index(e, FEW)
            search(e)

    proxy.answer = answering(Reply(body), path)
    assert "answered what" in one_line(act)


def test_a_refused_request_leaves_nothing(proxy, double):
    for path in ("/points", "/points/count", "/aliases"):
        proxy.answer = answering(Reply({"status": {"error": "disk is full"}}, 500), path)
        assert "answered 500: disk is full" in one_line(lambda: index(make(), FEW))
        assert double.client.get_collections().collections == []


def test_a_server_that_is_too_old(double):
    double.version = "1.9.3"
    assert "1.9.3 is too old: fusion by weights needs 1.17 or later" in one_line(
        lambda: index(make(), FEW)
    )


def test_a_server_that_does_not_finish(proxy, monkeypatch):
    monkeypatch.setattr(qdrant_collection, "OPTIMISING_SECONDS", 0.0)
    assert "did not finish indexing: status green" in one_line(lambda: index(make(), FEW))


def test_no_server(monkeypatch, slept):
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    assert "127.0.0.1:9: cannot be reached" in one_line(lambda: index(make(), FEW))
    server = make()._settings.server()
    assert "(3 tries)" in one_line(server.list_stored)
    assert sum(slept) < 2


@pytest.mark.parametrize(
    "value", ["", "http://me:secret@localhost:6333", "localhost:6333", "http://localhost:secret"]
)
def test_addresses_that_are_none(monkeypatch, value):
    monkeypatch.setenv("QDRANT_URL", value)
    problem = one_line(lambda: index(make(), FEW))
    assert problem.startswith("engine qdrant: ")
    assert "QDRANT_URL" in problem
    assert "secret" not in problem


def test_a_server_that_is_killed(monkeypatch):
    with run_double("qdrant") as (process, (url,)), closing(make()) as e:
        monkeypatch.setenv("QDRANT_URL", url)
        index(e, FEW)
        assert search(e)
        process.kill()
        process.wait()
        assert "(3 tries)" in one_line(lambda: search(e))
        assert "cannot be reached" in one_line(lambda: index(e, FEW))


def test_a_missing_extra(double, monkeypatch):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with closing(make()) as e:
        problem = one_line(lambda: index(e, FEW))
        assert e.keyword("cat", 5) == search(e) == []
    assert problem == "engine qdrant: needs the extra `qdrant`: make extra NAME=qdrant"
