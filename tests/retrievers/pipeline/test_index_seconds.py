"""Seconds of indexing mean the same in a first run and in one that finds all in the cache."""

import pytest
from tools.processes import ROOT

from assay.eval.configs.config import load_config
from assay.eval.report.run_page.indexing import tabulate_index
from assay.retrievers.base import Document
from assay.retrievers.models.caching import SECONDS_KIND
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

DOCUMENTS = tuple(
    Document(f"{name}.md", f"# {name}\n\n## Terms\n\n“{name}” means the {name} at the pier.\n")
    for name in ("Quay", "Crew", "Buoy")
)
LEGS = (
    "retriever.legs={dense: {type: dense}, keyword: {type: bm25}, "
    "fields: {type: bm25, weights: {}}, "
    "defined: {type: definitions}, code: {type: code}, graph: {type: graph}}",
    "retriever.fusion={type: rrf}",
)


@pytest.fixture
def fresh(tmp_path):
    """A resources whose cache knows nothing but the models."""
    shared = default_root() / "models"
    shared.mkdir(parents=True, exist_ok=True)
    (tmp_path / "models").symlink_to(shared)
    return Resources(Cache(tmp_path))


def configure(*overrides, name="hybrid_rrf"):
    return load_config(ROOT / f"configs/{name}.yaml", overrides)


def index(resources, config, documents=DOCUMENTS):
    with config.build(resources) as retriever:
        return retriever.index(documents)


@pytest.mark.parametrize("config", [configure(*LEGS), configure(name="native_hybrid")])
def test_a_warm_run_states_the_seconds_of_the_cold_one(fresh, config):
    cold, warm = index(fresh, config), index(fresh, config)
    assert cold.cached == ()
    assert all(taken > 0 for taken in cold.seconds.values())
    assert warm.seconds == cold.seconds
    assert set(warm.cached) == set(cold.seconds)


def test_what_is_new_is_added_to_what_was_known(fresh):
    config = configure()
    before = index(fresh, config, DOCUMENTS[:2])
    after = index(fresh, config)
    assert after.cached == ()
    for stage in ("chunk", "dense.embed"):
        assert after.seconds[stage] > before.seconds[stage]
    assert index(fresh, config).seconds == after.seconds


def test_seconds_that_were_not_kept_are_not_made_up(fresh):
    config = configure()
    index(fresh, config)
    fresh.cache.clear(SECONDS_KIND)
    report = index(fresh, config)
    assert "dense.embed" in report.cached
    assert "dense.embed" not in report.seconds
    table = next(tabulate_index(report))
    told = {row: [column.print(row)[0] for column in table.columns] for row in table.rows}
    assert told["dense.embed"] == ["dense.embed", "–", "yes"]
