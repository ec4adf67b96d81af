"""Fixtures: a double of a Weaviate server, and the engine on it with the sample indexed."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tools.server_engines import make_weaviate, point_at

from assay.retrievers.engines.conformance.sample import index
from assay.retrievers.engines.weaviate.engine import WeaviateEngine

if TYPE_CHECKING:
    from doubles.weaviate import WeaviateDouble


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator["WeaviateDouble"]:
    from doubles.weaviate import WeaviateDouble

    with WeaviateDouble().serve() as served:
        point_at(served, monkeypatch)
        yield served


@pytest.fixture
def engine(double: "WeaviateDouble") -> Iterator[WeaviateEngine]:
    with closing(make_weaviate()) as made:
        index(made)
        yield made
