"""Qdrant searched by gRPC: where its port answers, what is found, and what goes wrong there."""

import socket
from contextlib import closing

import pytest
from tools.server_engines import one_line

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import FEW, encode, index
from assay.retrievers.engines.stores import qdrant
from assay.retrievers.engines.stores.qdrant import QdrantSettings, find_grpc_port, make_client

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")


NAME = "qdrant"


@pytest.fixture(autouse=True)
def by_grpc(double, monkeypatch):
    with double.serve_grpc() as port:
        monkeypatch.setenv("QDRANT_GRPC_PORT", str(port))
        yield


def search(engine):
    vector = encode("running cat")
    return [
        engine.hybrid("running cat", vector, 5),
        engine.dense(vector, 5),
        engine.keyword("running cat", 5),
    ]


def test_both_ways_find_the_same(double, make, monkeypatch):
    for settings in ({}, {"fusion": "dbsf"}, {"exact": False}):
        with closing(make(**settings)) as e:
            index(e, FEW)
            asked = double.queries_by_grpc
            by_grpc = search(e)
            assert double.queries_by_grpc == asked + 3
            assert e.metadata()["protocol"] == "gRPC"
        with monkeypatch.context() as patch, closing(make(**settings)) as e:
            patch.setenv("QDRANT_GRPC_PORT", "0")
            index(e, FEW)
            asked = double.queries_by_grpc
            by_rest = search(e)
            assert double.queries_by_grpc == asked
            assert e.metadata()["protocol"] == "REST"
        for one, other in zip(by_grpc, by_rest, strict=True):
            assert dict(one) == pytest.approx(dict(other), rel=1e-5)
            assert one


def test_a_port_that_nobody_names_is_used_only_beside_qdrants_own(monkeypatch):
    monkeypatch.delenv("QDRANT_GRPC_PORT")
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(qdrant, "DEFAULT_GRPC_PORT", server.getsockname()[1])
        monkeypatch.setattr(qdrant, "REST_PORT", 7333)
        assert find_grpc_port("http://127.0.0.1:7333") == server.getsockname()[1]
        assert find_grpc_port("http://127.0.0.1:7334") is None
        assert find_grpc_port("http://127.0.0.1:7333/below") is None
    assert find_grpc_port("http://127.0.0.1:7333") is None
    monkeypatch.setenv("QDRANT_GRPC_PORT", "65536")
    with pytest.raises(AssayError, match=r"QDRANT_GRPC_PORT is no port; allowed: 0 to 65535"):
        find_grpc_port("http://127.0.0.1:7333")


def test_a_port_that_is_named_must_answer(make, monkeypatch):
    monkeypatch.setenv("QDRANT_GRPC_PORT", "9")
    problem = one_line(lambda: index(make(), FEW))
    assert "gRPC at port 9 cannot be reached: " in problem
    assert "0 for REST alone" in problem


def test_a_port_that_goes_away(double, make, monkeypatch):
    with double.serve_grpc() as port:
        monkeypatch.setenv("QDRANT_GRPC_PORT", str(port))
        e = make()
        index(e, FEW)
        assert search(e)
    with closing(e):
        problem = one_line(lambda: search(e))
    assert "cannot be reached: UNAVAILABLE: " in problem
    assert "(3 tries)" in problem


def test_a_key_that_is_refused_and_a_collection_that_is_gone(double, make):
    with closing(make()) as e:
        index(e, FEW)
        assert search(e)
        double.key = "other-key"
        problem = one_line(lambda: search(e))
        assert "refuses the key (401); set QDRANT_API_KEY to one" in problem
        assert "-key" not in problem
        double.key = "s3cret-key"
        for name in double.kept:
            double.client.delete_collection(name)
        assert "answered 404: NOT_FOUND: " in one_line(lambda: search(e))


def test_rest_on_this_machine_waits_for_no_acknowledgement(double):
    """As the client does by default: answers on kept connections may wait 40 ms each."""
    client = make_client(double.url, "", QdrantSettings())
    with closing(client):
        limits = client._client._rest_args["limits"]
        assert limits.max_keepalive_connections == 0
