"""Engines that pass over texts as they search: held to what they find without, of those texts."""

import os
from typing import Any

import numpy as np
import pytest

from assay.retrievers.base import Quiet
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

ROWS = 300
WORDS = ("valve", "pipe", "meter", "pump", "flange")
RESTRICTING: dict[str, dict[str, Any]] = {
    "chroma": {},
    "lancedb": {},
    "lancedb hnsw": {"index": {"type": "hnsw-flat", "partitions": 1}},
    "elasticsearch": {"bm25": {"analyzer": "standard"}},
    "opensearch": {},
    "opensearch hnsw": {"knn": {"method": "hnsw"}},
    "postgres": {},
    "sqlite": {},
    "tantivy": {},
    "duckdb": {},
    "qdrant-edge": {},
    "faiss": {},
    "faiss hnsw": {"index": {"type": "hnsw"}},
}


def test_those_that_say_so_are_tested() -> None:
    restricting = {name for name, kind in ENGINES.types.items() if kind.capabilities.restricts}
    assert restricting == {name.split()[0] for name in RESTRICTING}


@pytest.fixture(scope="module", params=RESTRICTING)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name = request.param.split()[0]
    settings = ENGINES.types[name].model_validate({"type": name, **RESTRICTING[request.param]})
    capabilities = settings.capabilities
    if capabilities.address and not (capabilities.embedded or os.environ.get(capabilities.address)):
        pytest.skip(f"needs {capabilities.address}")
    resources = Resources(Cache(tmp_path_factory.mktemp("cache")), Quiet())
    made = settings.build(resources)
    chance = np.random.default_rng(3)
    vectors = chance.normal(size=(ROWS, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [" ".join(chance.choice(WORDS, size=chance.integers(1, 6))) for _ in range(ROWS)]
    made.index(texts, vectors, "v")
    yield made, vectors
    made.close()


@pytest.mark.parametrize("size", [1, 3, 30, 270])
def test_a_restricted_engine_finds_the_best_of_the_texts_that_it_may(
    engine: tuple[Engine, Any], size: int
) -> None:
    whole, vectors = engine
    for seed in range(5):
        chance = np.random.default_rng(seed)
        allowed = np.sort(chance.choice(ROWS, size=size, replace=False))
        held = set(allowed.tolist())
        restricted = whole.restrict(allowed)
        assert restricted is not None
        query = vectors[chance.integers(ROWS)]
        if "dense" in whole.searches:
            found = restricted.dense(query, 10)
            cosines = vectors[allowed] @ query
            wanted = allowed[np.argsort(-cosines, kind="stable")][:10].tolist()
            assert {i for i, _ in found} <= held
            if whole.metadata()["exact"]:
                assert [i for i, _ in found] == wanted
            else:
                assert len(set(wanted) & {i for i, _ in found}) >= 0.7 * len(wanted)
        if "keyword" in whole.searches:
            text = " ".join(chance.choice(WORDS, size=2))
            everything = [pair for pair in whole.keyword(text, ROWS) if pair[0] in held]
            found = restricted.keyword(text, 10)
            assert [i for i, _ in found] == [i for i, _ in everything[:10]]
            assert [s for _, s in found] == pytest.approx([s for _, s in everything[:10]])
        # The build of Elasticsearch that can be had here has no fusion.
        if "hybrid" in whole.searches and whole.metadata()["engine"] != "elasticsearch":
            listed = restricted.hybrid(text, query, 10)
            assert {i for i, _ in listed} <= held
            assert len(listed) == min(10, size)


def test_a_restricted_engine_finds_nothing_where_nothing_may_be_found(
    engine: tuple[Engine, Any],
) -> None:
    whole, vectors = engine
    restricted = whole.restrict(np.array([], np.intp))
    assert restricted is not None
    if "dense" in whole.searches:
        assert restricted.dense(vectors[0], 5) == []
    if "keyword" in whole.searches:
        assert restricted.keyword("valve pipe", 5) == []
