"""Fixtures: a double of a Qdrant server, and a proxy before it."""

import os

import pytest
from doubles.opensearch_proxy import Proxy

from assay.retrievers.engines.servers import collections


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(collections, "PAUSE", 0.001)
    for variable in ("QDRANT_API_KEY", "QDRANT_GRPC_PORT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def double(monkeypatch):
    from doubles.qdrant import QdrantDouble

    double = QdrantDouble()
    with double.serve() as url:
        monkeypatch.setenv("QDRANT_URL", url)
        yield double


@pytest.fixture
def proxy(double, monkeypatch):
    with Proxy(os.environ["QDRANT_URL"]) as proxy:
        monkeypatch.setenv("QDRANT_URL", proxy.url)
        yield proxy
