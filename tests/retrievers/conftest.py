"""Fixtures of the retriever tests."""

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, closing

import pytest
from doubles.language_model_server import KEY, LanguageModelServer
from doubles.model_server import ModelServer
from tools.llm_fixtures import LlmFixture
from tools.own_cache import make_cache

from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder for the caches that the tests of a module share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def model_workshop(tmp_path):
    """A resources with an empty cache, but for the models: those are fetched once a machine."""
    return Resources(Cache(make_cache(tmp_path)))


@pytest.fixture
def resources(tmp_path):
    """A resources with an empty cache."""
    return Resources(Cache(tmp_path / "cache"))


@pytest.fixture
def serve(monkeypatch):
    """Start servers of models, each with what it does other than answer."""
    monkeypatch.setenv("MY_KEY", KEY)
    with ExitStack() as servers:
        yield lambda *react: servers.enter_context(ModelServer(*react))


@pytest.fixture
def ask(monkeypatch):
    """Start servers of language models, each with what it answers."""
    pytest.importorskip("openai", reason="needs the extra `openai`")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as servers:
        yield lambda react: servers.enter_context(LanguageModelServer(react))


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Open rooms of language models, each with what its server answers."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as servers:
        yield lambda react: LlmFixture(servers.enter_context(LanguageModelServer(react)), tmp_path)


@pytest.fixture(scope="module")
def osmem_base():
    """A stand-in for OpenSearch, of which tests clone one of their own."""
    osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")
    with osmem.OsmemServer.start(japanese=False) as running:
        yield running


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    """The address of a real Redis: that of REDIS_URL, or one that lives as long as the tests."""
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    if url := os.environ.get("REDIS_URL"):
        yield url
        return
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server on this machine and REDIS_URL is not set")
    socket = tmp_path_factory.mktemp("redis") / "socket"
    options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no")
    with subprocess.Popen((program, *options), stdout=subprocess.DEVNULL) as server:
        for _ in range(500):
            if socket.exists():
                break
            time.sleep(0.01)
        yield f"unix://{socket}"
        server.terminate()


@pytest.fixture(scope="module")
def postgres_root(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def embedded_postgres(postgres_root):
    """The server that the engines of a module find running."""
    from assay.retrievers.engines.servers.embedded_postgres import EmbeddedServer

    with closing(EmbeddedServer(postgres_root)) as server:
        server.find_socket()
        yield server


@pytest.fixture
def no_postgres_url(monkeypatch):
    monkeypatch.delenv("POSTGRES_URL", raising=False)
