"""Fixtures: a double of a Weaviate server, and the engine on it with the sample indexed."""

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tools.server_engines import make_weaviate, point_at

from assay.retrievers.engines.conformance.sample import index

if TYPE_CHECKING:
    pass


@pytest.fixture
def double(monkeypatch):
    from doubles.weaviate import WeaviateDouble

    with WeaviateDouble().serve() as served:
        point_at(served, monkeypatch)
        yield served


@pytest.fixture
def engine(double):
    with closing(make_weaviate()) as made:
        index(made)
        yield made
