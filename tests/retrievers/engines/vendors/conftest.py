"""Fixtures: each engine that a vendor serves, before the server that keeps its contract."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from assay.retrievers.engines.servers import service_collections

if TYPE_CHECKING:
    from tools.vendor_engines import Served

# As in `served`, which needs the clients of all.
SERVICES = ("pinecone", "azure-ai-search", "azure-cosmos-nosql", "mongodb", "elasticsearch")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_collections, "PAUSE", 0.001)
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 5.0)


@pytest.fixture(params=SERVICES)
def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator["Served"]:
    yield from serve(request.param, monkeypatch)


@pytest.fixture(scope="module", params=SERVICES)
def shared(request: pytest.FixtureRequest) -> Iterator["Served"]:
    with pytest.MonkeyPatch.context() as patch:
        yield from serve(request.param, patch)


def serve(name: str, patch: pytest.MonkeyPatch) -> Iterator["Served"]:
    from tools.vendor_engines import SERVED

    assert tuple(SERVED) == SERVICES
    chosen = SERVED[name]()
    with chosen.serve(patch):
        yield chosen
