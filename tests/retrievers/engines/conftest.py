"""Fixtures of the tests of engines."""

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from doubles.sql_server import SqlServerDouble
from tools.milvus_servers import serve


@pytest.fixture(scope="module")
def impatient_milvus() -> Iterator[None]:
    """Milvus's client waits half a second before it first asks whether an index is made."""
    handler = pytest.importorskip("pymilvus.client.grpc_handler", reason="needs `milvus`")
    clock = SimpleNamespace(**vars(time) | {"sleep": lambda seconds: time.sleep(seconds / 50)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handler, "time", clock)
        yield


@pytest.fixture(scope="module")
def sql_server_url() -> Iterator[None]:
    """Have SQL_SERVER_URL name a stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        SqlServerDouble().serve(patch)
        yield


@pytest.fixture(scope="module")
def milvus_url(impatient_milvus: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have MILVUS_URL name a stand-in."""
    with serve(tmp_path_factory.mktemp("milvus")):
        yield
