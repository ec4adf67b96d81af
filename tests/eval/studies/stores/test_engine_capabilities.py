"""What the capabilities of stores say is so."""

from contextlib import closing

import pytest

from assay.eval.configs.engine_settings import list_engines, read_engine
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

pytestmark = pytest.mark.slow

HERE = [engine for engine in list_engines() if not engine.settings.capabilities.address]


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_capabilities_say_whether_search_is_exact(engine, tmp_path):
    if not engine.settings.capabilities.installed:
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    with closing(engine.build(Resources(Cache(tmp_path)))) as store:
        assert store.metadata()["exact"] is engine.settings.capabilities.exact


def test_no_engine_is_met_that_nothing_can_be_asked_of():
    assert read_engine("weaviate").settings.capabilities.met == "1.39.0, 1.40.0-dev"
    assert not [engine.type for engine in HERE if engine.settings.capabilities.met]
