"""Fixtures: a double of a Qdrant server, and a proxy before it."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from doubles.opensearch_proxy import Proxy

from assay.retrievers.engines.qdrant import collection

if TYPE_CHECKING:
    from doubles.qdrant import QdrantDouble


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "PAUSE", 0.001)
    for variable in ("QDRANT_API_KEY", "QDRANT_GRPC_PORT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator["QdrantDouble"]:
    from doubles.qdrant import QdrantDouble

    double = QdrantDouble()
    with double.serve() as url:
        monkeypatch.setenv("QDRANT_URL", url)
        yield double


@pytest.fixture
def proxy(double: "QdrantDouble", monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(os.environ["QDRANT_URL"]) as proxy:
        monkeypatch.setenv("QDRANT_URL", proxy.url)
        yield proxy
