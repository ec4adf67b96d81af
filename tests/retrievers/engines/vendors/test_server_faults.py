"""What goes wrong with servers: one table of faults for all, and of the errors of their clients."""

import json
from contextlib import closing
from importlib import import_module

import pytest
from doubles.contract_server import Reply
from tools.server_engines import one_line
from tools.vendor_engines import encode_all, make_served, search

from assay.retrievers.engines.conformance.sample import FEW, TEXTS, index
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.engines.servers import collections as service_collections
from assay.retrievers.services.retries import count_retries

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")

# By what happens: what is told of it, and whether it is asked again.
FAULTS = {
    "429": ("answered 429: ", True),
    "503": ("answered 503: ", True),
    "500": ("answered 500: ", False),
    "late": ("no answer within ", True),
    "half": ("cannot be reached: ", True),
    "garbage": ("answered what no ", False),
}
# Of some servers another thing is told: they have no such status, or another one for it.
OTHERWISE = {
    ("mongodb", "500"): ("answered 8: ", False),
    ("redis", "429"): ("answered: bu sy", False),
    ("redis", "500"): ("answered: bu sy", False),
    ("weaviate", "500"): ("answered: INTERNAL: ", False),
    ("weaviate", "503"): ("cannot be reached: UNAVAILABLE: ", True),
    ("weaviate", "garbage"): ("answered: INTERNAL: ", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_faults(faulty, kind):
    told, passes = OTHERWISE.get((faulty.name, kind), FAULTS[kind])
    faulty.behave()
    with closing(faulty.make(timeout_seconds=faulty.patience)) as e, count_retries() as cost:
        index(e, FEW)
        expected = search(e)
        if passes:
            faulty.misbehave(kind, faulty.searched, times=1)
            assert search(e) == expected
            assert cost.retries == 1
            waits = faulty.name not in ("mongodb", "opensearch", "redis", "weaviate")
            assert cost.milliseconds > {"late": 250, "429": 99 * waits}.get(kind, 0)
        # A line of Redis' protocol has no end of a line in it.
        said = "bu sy" if faulty.name == "redis" else "bu\nsy"
        faulty.misbehave(kind, faulty.searched, said=said)
        asked = faulty.count_asked(faulty.searched)
        problem = one_line(lambda: search(e))
        assert problem.startswith(f"{faulty.name} at ")
        assert told in problem
        assert ("(3 tries)" in problem) is passes
        if passes:  # the client adds no tries of its own, which would count as the server's time
            assert faulty.count_asked(faulty.searched) == asked + 3


def test_what_was_made_unheard_is_made_once(served):
    with closing(served.make(timeout_seconds=served.patience)) as e, count_retries() as cost:
        served.misbehave("unheard", served.made, times=1)
        index(e, FEW)
        assert cost.retries == 1
        assert search(e)
    assert len(served.kept) == 1


def test_a_fresh_index_that_counts_too_few(served, monkeypatch):
    if not served.settings.store.eventual:
        pytest.skip("it counts what it holds")
    served.double.uncounted = 4
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.double.uncounted == 0
    # It lags again when it is found: that is waited for, and nothing is removed.
    served.double.uncounted = 2
    with closing(served.make()) as e:
        assert e.index(FEW, encode_all(FEW), "hashing").cached == ("engine",)
    assert len(served.kept) == 1
    served.double.uncounted = 10**9
    monkeypatch.setattr(service_collections, "INDEXING_SECONDS", 0.02)
    problem = one_line(lambda: index(served.make(), ("one", "two")))
    assert "1 of 2 texts are stored" in problem


def test_what_fails_half_way_leaves_nothing(served):
    served.misbehave("500", served.stored, said="disk is full")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "disk is full" in problem
    assert "tries" not in problem
    assert served.kept == set()
    served.behave()
    with closing(served.make()) as e:
        index(e, FEW)


def test_keys(served, monkeypatch):
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.secret not in json.dumps(dict(e.metadata()))
        served.misbehave("500", served.searched, said=f"no right for {served.secret} here")
        assert "no right for … here" in one_line(lambda: search(e))
    served.behave()
    monkeypatch.setenv(served.key, "wrong-key")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "refuses the key (40" in problem
    assert f"set {served.key} to one that it knows" in problem
    assert "wrong-key" not in problem
    for value, reason in (("", f"set {served.key} "), ("two words", "is no key")):
        if value or served.settings.store.needs_key:
            monkeypatch.setenv(served.key, value)
            problem = one_line(lambda: index(served.make(), FEW))
            assert problem.startswith(f"engine {served.name}: ")
            assert reason in problem
            assert "two words" not in problem


def test_addresses_that_are_none(served, monkeypatch):
    for value in ("", "http://me:s3cret@host", "mongodb://me:s3cret@host", "redis://me:s3cret@host",
                  "redis://host/0?password=s3cret", "host", "x://s3cret"):  # fmt: skip
        monkeypatch.setenv(served.address, value)
        problem = one_line(lambda: index(served.make(), FEW))
        assert problem.startswith(f"engine {served.name}: ")
        assert served.address in problem
        assert "s3cret" not in problem


def test_no_service(served, monkeypatch):
    scheme = served.name if served.name in ("mongodb", "redis") else "http"
    monkeypatch.setenv(served.address, f"{scheme}://127.0.0.1:9")
    problem = one_line(lambda: index(served.make(timeout_seconds=0.2), FEW))
    assert "127.0.0.1:9: cannot be reached: " in problem
    assert "(3 tries)" in problem


@pytest.mark.parametrize("body", ["<html>garbage", "[]", "{}", '{"classes": 7, "result": 7}'])
@pytest.mark.parametrize(
    ("name", "path"),
    [("weaviate", "/v1/meta"), ("weaviate", "/v1/schema"), ("qdrant", "/"),
     ("qdrant", "/collections")],
)  # fmt: skip
def test_what_another_server_answers(name, path, body, monkeypatch):
    served = make_served(name)
    served.double.fault = lambda asked: Reply(body) if asked.path == path else None
    with served.serve(monkeypatch):
        assert "answered what no " in one_line(lambda: index(served.make(), FEW))


def test_texts_that_weaviate_does_not_store(monkeypatch):
    served = make_served("weaviate")
    with served.serve(monkeypatch):
        served.double.refused = (TEXTS[3], TEXTS[7])
        problem = one_line(lambda: index(served.make()))
        assert "2 texts were not stored, the first for: no space left on device" in problem
        served.double.refused = TEXTS
        assert "120 texts were not stored" in one_line(lambda: index(served.make()))
        assert served.kept == set()


def make_error(engine, name, code):
    """Return an error as an engine's client makes it of what the server says."""
    said = "the server's words"
    if engine == "neo4j":
        error = getattr(import_module("neo4j.exceptions"), name)(said)
        if code:
            error._neo4j_code = code
        return error
    if engine == "sql-server":
        return import_module("mssql_python.exceptions").sqlstate_to_exception(code, said)
    if engine == "milvus":
        module = import_module("pymilvus.exceptions")
        return module.MilvusException(code, f"[x] Retry, message={said}")
    details = {"ok": 0, "errmsg": name or said, "code": code}
    return import_module("pymongo.errors").OperationFailure(name or said, code, details)


@pytest.mark.parametrize(
    ("engine", "name", "code", "kind", "status"),
    [
        ("milvus", "", 8, "answered", 429),
        ("milvus", "", 100, "answered", 404),
        ("milvus", "", 1100, "answered", 0),
        ("mongodb", "bad auth : Authentication failed.", 8000, "answered", 401),
        ("mongodb", "you are over your space quota", 8000, "answered", 8000),
        ("mongodb", "collection authors: you are over your quota", 8000, "answered", 8000),
        ("mongodb", "", 48, "answered", 409),
        ("mongodb", "", 50, "late", 0),
        ("neo4j", "AuthError", "Neo.ClientError.Security.Unauthorized", "answered", 401),
        ("neo4j", "Forbidden", "Neo.ClientError.Security.Forbidden", "answered", 403),
        ("neo4j", "DatabaseUnavailable", "Neo.TransientError.General.DatabaseUnavailable",
         "answered", 503),
        ("neo4j", "TransientError", "Neo.TransientError.Transaction.DeadlockDetected", "answered",
         503),
        ("neo4j", "ClientError", "Neo.ClientError.Transaction.TransactionTimedOut", "late", 0),
        ("neo4j", "CypherSyntaxError", "Neo.ClientError.Statement.SyntaxError", "answered", 0),
        ("neo4j", "DatabaseError", "Neo.DatabaseError.General.UnknownError", "answered", 0),
        ("neo4j", "ServiceUnavailable", "", "lost", 0),
        ("neo4j", "SessionExpired", "", "lost", 0),
        ("neo4j", "ConnectionAcquisitionTimeoutError", "", "late", 0),
        ("neo4j", "BrokenRecordError", "", "garbled", 0),
        ("sql-server", "", "28000", "answered", 401),
        ("sql-server", "", "HYT00", "late", 0),
        ("sql-server", "", "HYT01", "late", 0),
        ("sql-server", "", "08001", "lost", 0),
        ("sql-server", "", "08S01", "lost", 0),
        ("sql-server", "", "40001", "answered", 503),
        ("sql-server", "", "42S02", "answered", 404),
        ("sql-server", "", "42S01", "answered", 409),
        ("sql-server", "", "42000", "answered", 0),
        ("sql-server", "", "22018", "answered", 0),
    ],
)  # fmt: skip
def test_errors_of_clients(engine, name, code, kind, status):
    kinds = ENGINES.types[engine]
    pytest.importorskip(kinds.capabilities.modules[0], reason=f"needs the extra `{engine}`")
    error = make_error(engine, name, code)
    found = kinds.store.find_fault(error)
    assert found is not None
    assert (found.kind, found.status) == (kind, status)
    assert "the server's words" in str(found.said) or str(found.said) == name
    assert found.passing == (kind in ("late", "lost") or status in (429, 503))


@pytest.mark.parametrize("engine", [n for n, it in ENGINES.types.items() if it.capabilities.server])
def test_a_mistake_is_no_fault_of_the_server(engine):
    kind = ENGINES.types[engine]
    pytest.importorskip(kind.capabilities.modules[0], reason=f"needs the extra `{engine}`")
    assert kind.store.find_fault(KeyError("a mistake")) is None
