"""Engines on servers that run: those that a variable of the environment names."""

import os
import re
from contextlib import closing, contextmanager

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import index
from assay.retrievers.engines.registry import ENGINES as STORES
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

ENGINES = {
    "weaviate": {},
    "weaviate relative score": {"fusion": "relative_score", "alpha": 0.7},
    "weaviate deep": {"depth": {"dense": 110, "keyword": 110}},
    "weaviate hnsw": {"exact": False},
    "qdrant": {},
    "qdrant dbsf": {"fusion": "dbsf"},
    "qdrant weighted": {
        "weights": {"dense": 3.0, "keyword": 0.5},
        "depth": {"dense": 20, "keyword": 50},
    },
    "qdrant hnsw": {"exact": False},
    "milvus": {},
    "milvus weighted": {"fusion": "weighted"},
    "milvus hnsw": {"exact": False},
    "elasticsearch": {},
    "elasticsearch standard": {"bm25": {"analyzer": "standard"}},
    "elasticsearch linear": {"fusion": "linear"},
    "elasticsearch hnsw": {"exact": False, "bm25": {"analyzer": "standard"}},
    "redis": {},
    "redis linear": {"fusion": "linear", "weights": {"keyword": 0.5}},
    "redis hnsw": {"exact": False, "text": {"stop_words": False}},
}

# What a server says that lacks a licence, or a module, of Elastic's; it is then not tested.
LACKS = re.compile(
    r"licence lacks|unknown retriever|analyzer .+ has not been configured|has no query engine|"
    r"too old: FT\.HYBRID"
)

pytestmark = pytest.mark.live


def read_settings(name):
    """Return the settings of an engine, or skip where its server is not named."""
    kind = STORES.types[name.split()[0]]
    if not os.environ.get(kind.capabilities.address):
        pytest.skip(f"{kind.capabilities.address} is not set")
    return kind.model_validate({"type": name.split()[0], **ENGINES[name]})


@pytest.fixture(scope="module", params=ENGINES)
def settings(request):
    """The settings of an engine; what is made on its server meanwhile is removed."""
    chosen = read_settings(request.param)
    with chosen.server() as server:
        before = {stored.name for stored in server.list_stored()}
        yield chosen
        for stored in server.list_stored():
            if stored.name not in before:
                server.drop(stored.name)


@contextmanager
def skip_what_lacks():
    """Skip the test, with the reason, where the server lacks what it is asked for."""
    try:
        yield
    except AssayError as error:
        if LACKS.search(str(error)):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_engines_keep_the_rules(settings, rule):
    with skip_what_lacks():
        rule.check(lambda: settings.build(Resources(Cache(default_root()))))


def test_what_is_made_is_listed_and_can_be_removed(settings):
    texts = ["live: one ferry", "live: two tides"]
    engine = settings.build(Resources(Cache(default_root())))
    with skip_what_lacks(), closing(engine), settings.server() as s:
        index(engine, texts)
        name = engine.metadata()["index"]
        assert re.fullmatch("assay_[0-9a-f]{16}", name)
        (stored,) = [each for each in s.list_stored() if each.name == name]
        assert stored.texts == len(texts)
        s.drop(name)
        assert name not in {each.name for each in s.list_stored()}
