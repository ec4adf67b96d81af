"""The engines that vendors serve, each before the server that keeps its contract."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("azure.search.documents", reason="needs the extra `azure-ai-search`")
pytest.importorskip("azure.cosmos", reason="needs the extra `azure-cosmos-nosql`")
pytest.importorskip("pinecone", reason="needs the extra `pinecone`")
pytest.importorskip("pymongo", reason="needs the extra `mongodb`")
pytest.importorskip("elasticsearch", reason="needs the extra `elasticsearch`")

from doubles import mongodb as mongodb_double
from doubles.azure_search import AzureSearchDouble
from doubles.contract_server import Reply
from doubles.cosmos import CosmosDouble
from doubles.elasticsearch import ElasticsearchDouble
from doubles.mongodb import Answer, MongoDouble
from doubles.pinecone import PineconeDouble

from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.conformance.sample import encode, search_fully
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.stores.azure_ai_search import AzureSearchSettings
from assay.retrievers.engines.stores.azure_cosmos_nosql import CosmosSettings
from assay.retrievers.engines.stores.elasticsearch import ElasticsearchSettings
from assay.retrievers.engines.stores.mongodb import MongoSettings
from assay.retrievers.engines.stores.pinecone import PineconeSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

QUICK = {"retries": {"attempts": 3, "pause": 0.001}, "timeout_seconds": 5.0}


@dataclass
class Served:
    """An engine and its double; `searched` and `stored` are parts of what is asked of it."""

    settings: type[ServerSettings]
    double: Any
    address: str
    key: str
    searched: str
    stored: str
    user: str = ""
    made: str = "/indexes POST"

    @property
    def name(self) -> str:
        return str(self.settings.model_fields["type"].default)

    @property
    def secret(self) -> str:
        """The key that the double knows."""
        mongo = isinstance(self.double, MongoDouble)
        return mongodb_double.PASSWORD if mongo else str(self.double.key)

    @contextmanager
    def serve(self, patch: pytest.MonkeyPatch) -> Iterator[str]:
        """Serve, and name the double in the environment, as long as `patch` holds."""
        with self.double.serve() as url:
            patch.setenv(self.address, url)
            patch.setenv(self.key, self.secret)
            if self.user:
                patch.setenv(self.user, mongodb_double.USER)
            yield url

    def choose(self, **settings: Any) -> ServerSettings:
        return self.settings.model_validate(QUICK | settings)

    def connect(self) -> Any:
        chosen = self.choose()
        return chosen.store(chosen)

    def make(self, **settings: Any) -> Engine:
        return self.choose(**settings).build(Resources(Cache(default_root())))

    def misbehave(self, kind: str, part: str, times: int = 99, said: str = "busy") -> None:
        """Answer the next requests in which the expression `part` is found in another way."""
        left = [times]
        mongo = isinstance(self.double, MongoDouble)

        def answer(asked: Any) -> Any:
            if not re.search(part, self._name(asked)) or not left[0]:
                return None
            left[0] -= 1
            if kind == "unheard":
                return self._act_unheard(asked)
            return _fail_mongo(kind, said) if mongo else _fail_http(kind, said, asked)

        self.double.fault = answer

    def _act_unheard(self, asked: Any) -> Any:
        """Do what is asked; the answer comes too late."""
        if isinstance(self.double, MongoDouble):
            getattr(self.double, f"_do_{asked.name}")(asked.body)
            return _fail_mongo("late", "")
        self.double.answer(asked)
        return _fail_http("late", "", asked)

    def behave(self) -> None:
        self.double.fault = lambda _: None

    def count_asked(self, part: str) -> int:
        return sum(part in self._name(it) for it in self.double.asked)

    def _name(self, asked: Any) -> str:
        mongo = isinstance(self.double, MongoDouble)
        return str(asked.body) if mongo else str(self.double.name(asked))

    @property
    def kept(self) -> set[str]:
        """The names of what the double holds."""
        if isinstance(self.double, MongoDouble):
            notes = self.double.collections.get("notes", {})
            return {*notes, *self.double.collections, *self.double.indexes} - {"notes"}
        return set(self.double.indexes)

    def lose_a_text(self) -> None:
        if isinstance(self.double, MongoDouble):
            (name,) = self.kept
            del self.double.collections[name][0]
        else:
            (index,) = self.double.indexes.values()
            del index.documents["0"]

    def rewrite_note(self, old: str, new: str) -> None:
        """Put something else into the only note."""
        if isinstance(self.double, MongoDouble):
            (note,) = self.double.collections["notes"].values()
            note["note"] = note["note"].replace(old, new)
            return
        if isinstance(self.double, CosmosDouble):
            (item,) = self.double.containers["notes"].documents.values()
            item["note"] = item["note"].replace(old, new)
            return
        (index,) = self.double.indexes.values()
        if "mappings" in index.made:
            meta = index.made["mappings"]["_meta"]
            meta["assay"] = meta["assay"].replace(old, new)
        elif "description" in index.made:
            index.made["description"] = index.made["description"].replace(old, new)
        else:
            tags = index.made["tags"]
            whole = "".join(tags.values()).replace(old, new)
            for i, name in enumerate(tags):
                tags[name] = whole[i * 120 : (i + 1) * 120]


def _fail_http(kind, said, asked):
    if kind.isdigit():
        # As the services write it: by code and message, or by type and reason.
        cause = {"code": "x", "message": said, "type": "x", "reason": said}
        error = {"error": cause, "status": int(kind), "code": "x", "message": said}
        wait = {"Retry-After": "0.1", "x-ms-retry-after-ms": "100"} if kind == "429" else {}
        return Reply(error, int(kind), wait)
    if kind == "late":
        return Reply({}, seconds=0.6)
    return Reply({"value": ["x"] * 99}, half=True) if kind == "half" else Reply("<html>")


def _fail_mongo(kind, said):
    codes = {"429": 462, "503": 91, "500": 8}
    if kind in codes:
        return Answer({"ok": 0, "code": codes[kind], "errmsg": said})
    if kind == "late":
        return Answer({"ok": 1}, seconds=0.6)
    if kind == "half":
        return Answer(None)
    return Answer({"ok": 1, "cursor": {"id": 0, "ns": "x.y", "firstBatch": [{"_id": "<html>"}]}})


def serve_azure():
    return Served(
        AzureSearchSettings,
        AzureSearchDouble(page=100),
        "AZURE_SEARCH_ENDPOINT",
        "AZURE_SEARCH_KEY",
        searched="search.post.search",
        stored="search.index",
    )


def serve_mongodb():
    return Served(
        MongoSettings,
        MongoDouble(),
        "MONGODB_URL",
        "MONGODB_PASSWORD",
        searched="'score':",
        stored="'upsert': True",
        user="MONGODB_USER",
        made="'create':",
    )


def serve_elasticsearch():
    return Served(
        ElasticsearchSettings,
        ElasticsearchDouble(),
        "ELASTICSEARCH_URL",
        "ELASTICSEARCH_API_KEY",
        searched="_search",
        stored="_bulk",
        made=r"^/assay_\w+ PUT",
    )


def serve_cosmos():
    return Served(
        CosmosSettings,
        CosmosDouble(page=400),
        "AZURE_COSMOS_ENDPOINT",
        "AZURE_COSMOS_KEY",
        searched="docs POST query",
        stored="docs POST batch",
        made="colls POST",
    )


def serve_pinecone():
    return Served(
        PineconeSettings,
        PineconeDouble(),
        "PINECONE_URL",
        "PINECONE_API_KEY",
        searched="/documents/search",
        stored="/documents/upsert",
    )


SERVED = {
    "pinecone": serve_pinecone,
    "azure-ai-search": serve_azure,
    "azure-cosmos-nosql": serve_cosmos,
    "mongodb": serve_mongodb,
    "elasticsearch": serve_elasticsearch,
}


def encode_all(texts):
    """Return the vectors of texts."""
    return np.array([encode(text) for text in texts], np.float32)


def search(engine):
    """Search an engine of FEW in the last of its ways."""
    return search_fully(engine, "running cat", 5)
