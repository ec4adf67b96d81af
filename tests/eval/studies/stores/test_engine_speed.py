"""Bare clients of stores, and what their capabilities say."""

from contextlib import closing
from typing import Any

import pytest

from assay.eval.configs.engine_settings import is_usable, list_engines, read_engine
from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import encode, index
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

FEW = ("cats run fast", "the dog", "a running cat and a cat", "nothing", "dogs and cats")
HERE = [engine for engine in list_engines() if not engine.settings.capabilities.address]


@pytest.mark.parametrize("engine", HERE, ids=lambda engine: engine.type)
def test_the_bare_client_finds_what_the_adapter_finds(engine: Any, tmp_path: Any) -> None:
    if not is_usable(engine):
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    vector = encode("running cat")
    with closing(engine.build(Resources(Cache(tmp_path)))) as store:
        with pytest.raises(AssayError, match=r"nothing is indexed that a client could be asked"):
            store.open_bare()
        index(store, FEW)
        bare = store.open_bare()
        assert bare is not None
        listed = []
        for ready, ask, given in (
            (bare.dense, store.dense, vector),
            (bare.keyword, store.keyword, "running cat"),
        ):
            if ready is None:
                continue
            listed.append("dense" if ready is bare.dense else "keyword")
            found = [_position(row) for row in ready(given, 4)()]
            assert sorted(found) == sorted(position for position, _ in ask(given, 4))
            assert found
        assert tuple(listed) == engine.settings.capabilities.lists
        bare.close()


def _position(row: Any) -> int:
    """Return a text's position: rows of a LanceDB table without updates are numbered so."""
    return int(row["_rowid"] if isinstance(row, dict) else row[0])


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_capabilities_say_whether_search_is_exact(engine: Any, tmp_path: Any) -> None:
    if not engine.settings.capabilities.installed:
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    with closing(engine.build(Resources(Cache(tmp_path)))) as store:
        assert store.metadata()["exact"] is engine.settings.capabilities.exact


def test_no_engine_is_met_that_nothing_can_be_asked_of() -> None:
    assert read_engine("weaviate").settings.capabilities.met == "1.39.0"
    assert not [engine.type for engine in HERE if engine.settings.capabilities.met]
