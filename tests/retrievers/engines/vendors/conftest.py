"""Fixtures: each engine that a vendor serves, before the server that keeps its contract."""

from typing import TYPE_CHECKING

import pytest

from assay.retrievers.engines.servers import collections as service_collections

if TYPE_CHECKING:
    pass

# As in `served`, which needs the clients of all.
SERVICES = ("pinecone", "azure-ai-search", "azure-cosmos-nosql", "mongodb", "elasticsearch")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(service_collections, "PAUSE", 0.001)
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 5.0)


@pytest.fixture(params=SERVICES)
def served(request, monkeypatch):
    yield from serve(request.param, monkeypatch)


@pytest.fixture(scope="module", params=SERVICES)
def shared(request):
    with pytest.MonkeyPatch.context() as patch:
        yield from serve(request.param, patch)


def serve(name, patch):
    from tools.vendor_engines import SERVED

    assert tuple(SERVED) == SERVICES
    chosen = SERVED[name]()
    with chosen.serve(patch):
        yield chosen
