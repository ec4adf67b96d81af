"""Engines on doubles of servers, which try again quickly, and their errors."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import index
from assay.retrievers.engines.stores.qdrant import QdrantSettings
from assay.retrievers.engines.stores.weaviate import WeaviateSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

if TYPE_CHECKING:
    pass

RETRIES = {"attempts": 3, "pause": 0.01}


def make_weaviate(**settings):
    """Return the engine of WEAVIATE_URL."""
    chosen = {"retries": RETRIES, "timeout_seconds": 5.0, **settings}
    return WeaviateSettings.model_validate(chosen).build(Resources(Cache(default_root())))


def make_qdrant(**settings):
    """Return the engine of QDRANT_URL."""
    chosen = {"retries": RETRIES, "timeout_seconds": 5, **settings}
    return QdrantSettings.model_validate(chosen).build(Resources(Cache(default_root())))


def point_at(double, patch):
    """Name the double in the environment."""
    patch.setenv("WEAVIATE_URL", double.url)
    patch.setenv("WEAVIATE_GRPC_PORT", str(double.grpc_port))
    patch.delenv("WEAVIATE_API_KEY", raising=False)


def index_at_once(make, texts, search):
    """Hold that two which index the same texts at once both find what is there."""

    def act(_: int) -> Any:
        with closing(make()) as engine:
            index(engine, texts)
            return search(engine)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(act, range(2))
    assert first == second
    assert first


def one_line(action):
    """Return the error that `action` raises, which is in one line."""
    with pytest.raises(AssayError) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)


@contextmanager
def run_double(name):
    """Run a double in a process of its own: give that, and what it says of its addresses."""
    command = [sys.executable, "-m", f"doubles.{name}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        yield process, process.stdout.readline().split()
        process.kill()
