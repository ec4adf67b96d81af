"""Engines on servers that run: those of the variables of URLS."""

import os
import re
from contextlib import closing, contextmanager

import pytest
from pydantic import TypeAdapter

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import index
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.engines.stores.elasticsearch import ElasticsearchSettings
from assay.retrievers.engines.stores.milvus import MilvusSettings
from assay.retrievers.engines.stores.qdrant import QdrantSettings
from assay.retrievers.engines.stores.redis import RedisSettings
from assay.retrievers.engines.stores.weaviate import WeaviateSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

URLS = {
    "weaviate": "WEAVIATE_URL",
    "qdrant": "QDRANT_URL",
    "milvus": "MILVUS_URL",
    "elasticsearch": "ELASTICSEARCH_URL",
    "redis": "REDIS_URL",
}
ENGINES = {
    "weaviate": {"type": "weaviate"},
    "weaviate relative score": {"type": "weaviate", "fusion": "relative_score", "alpha": 0.7},
    "weaviate deep": {"type": "weaviate", "depth": {"dense": 110, "keyword": 110}},
    "weaviate hnsw": {"type": "weaviate", "exact": False},
    "qdrant": {"type": "qdrant"},
    "qdrant dbsf": {"type": "qdrant", "fusion": "dbsf"},
    "qdrant weighted": {
        "type": "qdrant",
        "weights": {"dense": 3.0, "keyword": 0.5},
        "depth": {"dense": 20, "keyword": 50},
    },
    "qdrant hnsw": {"type": "qdrant", "exact": False},
    "milvus": {"type": "milvus"},
    "milvus weighted": {"type": "milvus", "fusion": "weighted"},
    "milvus hnsw": {"type": "milvus", "exact": False},
    "elasticsearch": {"type": "elasticsearch"},
    "elasticsearch standard": {"type": "elasticsearch", "bm25": {"analyzer": "standard"}},
    "elasticsearch linear": {"type": "elasticsearch", "fusion": "linear"},
    "elasticsearch hnsw": {
        "type": "elasticsearch",
        "exact": False,
        "bm25": {"analyzer": "standard"},
    },
    "redis": {"type": "redis"},
    "redis linear": {"type": "redis", "fusion": "linear", "weights": {"keyword": 0.5}},
    "redis hnsw": {"type": "redis", "exact": False, "text": {"stop_words": False}},
}

# What a server says that lacks a licence, or a module, of Elastic's; it is then not tested.
LACKS = re.compile(
    r"licence lacks|unknown retriever|analyzer .+ has not been configured|has no query engine|"
    r"too old: FT\.HYBRID"
)
LiveSettings = (
    WeaviateSettings | QdrantSettings | MilvusSettings | ElasticsearchSettings | RedisSettings
)

pytestmark = pytest.mark.live


def read_settings(name):
    """Return the settings of an engine, or skip where its server is not named."""
    given = ENGINES[name]
    if not os.environ.get(URLS[given["type"]]):
        pytest.skip(f"{URLS[given['type']]} is not set")
    settings = TypeAdapter(EngineSettings).validate_python(given)
    assert isinstance(settings, LiveSettings)
    return settings


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
