"""The engines on servers, each before the double that keeps its contract."""

import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from assay.retrievers.engines.conformance.sample import encode, search_fully
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

QUICK = {"retries": {"attempts": 3, "pause": 0.001}, "timeout_seconds": 5.0}


@dataclass
class Served:
    """An engine and its double.

    `searched`, `stored` and `made` are expressions for what is asked of the double to search, to
    store texts and to make a collection; `patience` is the shortest time that its client waits;
    `given` are settings without which it has no double.
    """

    name: str
    double: Any
    searched: str
    stored: str
    made: str = "/indexes POST"
    patience: float = 0.3
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self):
        return ENGINES.types[self.name]

    @property
    def address(self):
        return self.settings.capabilities.address

    @property
    def key(self):
        """The variable of the key."""
        return self.settings.store.key

    @property
    def secret(self):
        """The key that the double knows."""
        return str(self.double.key)

    @contextmanager
    def serve(self, patch):
        """Serve, and name the double in the environment, as long as `patch` holds."""
        with self.double.serve() as url:
            patch.setenv(self.address, url)
            patch.setenv(self.key, self.secret)
            if self.settings.store.user:
                patch.setenv(self.settings.store.user, "me")
            if port := getattr(self.double, "grpc_port", None):
                patch.setenv(f"{self.name.upper()}_GRPC_PORT", str(port))
            yield url

    def choose(self, **settings):
        return self.settings.model_validate({**QUICK, **self.given, **settings})

    def connect(self):
        chosen = self.choose()
        return chosen.store(chosen)

    def make(self, **settings):
        return self.choose(**settings).build(Resources(Cache(default_root())))

    def misbehave(self, kind, part, times=99, said="busy"):
        """Answer the next requests in which the expression `part` is found in another way."""
        left = [times]

        def answer(asked):
            if not re.search(part, self.double.name(asked)) or not left[0]:
                return None
            left[0] -= 1
            return self.double.misbehave(kind, said, asked)

        self.double.fault = answer

    @property
    def kept(self):
        """The names of what the double holds."""
        return set(self.double.kept)

    def behave(self):
        self.double.fault = lambda _: None

    def count_asked(self, part):
        return sum(part in self.double.name(it) for it in self.double.asked)


def _take(module, double, **given):
    """Return the maker of a double, which needs the extra of its client."""
    return lambda: getattr(import_module(f"doubles.{module}"), double)(**given)


# By engine: its double, how requests are recognised, and the module of its client.
_SERVED = {
    "pinecone": (
        "pinecone",
        _take("pinecone", "PineconeDouble"),
        {"searched": "/documents/search", "stored": "/documents/upsert"},
    ),
    "azure-ai-search": (
        "azure.search.documents",
        _take("azure_search", "AzureSearchDouble", page=100),
        {"searched": "search.post.search", "stored": "search.index"},
    ),
    "azure-cosmos-nosql": (
        "azure.cosmos",
        _take("cosmos", "CosmosDouble", page=400),
        {"searched": "docs POST query", "stored": "docs POST batch", "made": "colls POST"},
    ),
    "mongodb": (
        "pymongo",
        _take("mongodb", "MongoDouble"),
        {"searched": "'score':", "stored": "'upsert': True", "made": "'create':"},
    ),
    "elasticsearch": (
        "elasticsearch",
        _take("elasticsearch", "ElasticsearchDouble"),
        {"searched": "_search", "stored": "_bulk", "made": r"^/assay_\w+ PUT"},
    ),
    "weaviate": (
        "weaviate",
        _take("weaviate", "WeaviateDouble"),
        {"searched": "Search RPC", "stored": "BatchObjects RPC", "made": "/v1/schema POST"},
    ),
    "qdrant": (
        "qdrant_client",
        _take("qdrant", "QdrantDouble"),
        {
            "searched": "/points/query",
            "stored": "/points PUT",
            "made": r"^/collections/\w+ PUT",
            "patience": 1.0,
        },
    ),
    "redis": (
        "redis",
        _take("redis", "RedisDouble"),
        {"searched": "FT.HYBRID", "stored": "HSET .* vector", "made": "FT.CREATE"},
    ),
}
SERVICES = tuple(_SERVED)


def make_served(name):
    """Return an engine before a fresh double; skip the test where its client is missing."""
    client, double, parts = _SERVED[name]
    pytest.importorskip(client, reason=f"needs the extra `{name}`")
    return Served(name, double(), **parts)


def put_before(url):
    """Return OpenSearch, searched by words alone, behind a proxy of the server at `url`."""
    from doubles.opensearch_proxy import Proxy

    words = {"knn": {"method": "none"}}
    return Served("opensearch", Proxy(url), "_search", "_bulk", given=words)


def encode_all(texts):
    """Return the vectors of texts."""
    return np.array([encode(text) for text in texts], np.float32)


def search(engine):
    """Search an engine of FEW in the last of its ways."""
    return search_fully(engine, "running cat", 5)
