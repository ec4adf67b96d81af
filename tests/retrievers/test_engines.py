"""Every engine keeps every rule."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from retrievers.engines.base import Engine
from retrievers.engines.conformance import RULES, Rule
from retrievers.engines.kinds import EngineSettings
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

ENGINES: dict[str, dict[str, Any]] = {
    "qdrant-edge": {"type": "qdrant-edge"},
    "qdrant-edge dbsf": {"type": "qdrant-edge", "fusion": "dbsf"},
    "qdrant-edge hnsw": {"type": "qdrant-edge", "exact": False},
    "qdrant-edge weighted": {
        "type": "qdrant-edge",
        "weights": {"dense": 3.0, "keyword": 0.5},
        "depth": {"dense": 20, "keyword": 50},
    },
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def make(name: str, cache: Path) -> Callable[[], Engine]:
    settings = TypeAdapter(EngineSettings).validate_python(ENGINES[name])
    return lambda: settings.build(Workshop(Cache(cache)))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", ENGINES)
def test_engines_keep_the_rules(name: str, rule: Rule, cache: Path) -> None:
    rule.check(make(name, cache))
