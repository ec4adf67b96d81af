"""Fixtures: each engine on a server, before the double that keeps its contract."""

import pytest
from tools.vendor_engines import SERVICES, make_served, put_before

from assay.retrievers.engines.servers import collections as service_collections


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(service_collections, "PAUSE", 0.001)
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 5.0)


@pytest.fixture(params=SERVICES)
def served(request, monkeypatch):
    chosen = make_served(request.param)
    with chosen.serve(monkeypatch):
        yield chosen


@pytest.fixture
def chosen(request, monkeypatch):
    """The engine that a module names."""
    made = make_served(request.module.NAME)
    with made.serve(monkeypatch):
        yield made


@pytest.fixture
def double(chosen):
    return chosen.double


@pytest.fixture
def make(chosen):
    return chosen.make


@pytest.fixture(scope="module", params=SERVICES)
def shared(request):
    chosen = make_served(request.param)
    with pytest.MonkeyPatch.context() as patch, chosen.serve(patch):
        yield chosen


@pytest.fixture(scope="module", params=[*SERVICES, "opensearch"])
def faulty(request):
    """An engine whose double is told to misbehave; OpenSearch's is a real one behind a proxy."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "opensearch":
            chosen = make_served(request.param)
            with chosen.serve(patch):
                yield chosen
            return
        pytest.importorskip("opensearchpy", reason="needs the extra `opensearch`")
        with request.getfixturevalue("osmem_base").clone() as clone:
            chosen = put_before(clone.url)
            with chosen.serve(patch):
                yield chosen
