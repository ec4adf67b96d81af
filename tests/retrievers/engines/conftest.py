"""Fixtures of the tests of engines."""

import time
from types import SimpleNamespace

import pytest
from doubles.sql_server import SqlServerDouble
from tools.milvus_servers import serve


@pytest.fixture(scope="module")
def impatient_milvus():
    """Milvus's client waits half a second before it first asks whether an index is made."""
    handler = pytest.importorskip("pymilvus.client.grpc_handler", reason="needs `milvus`")
    clock = SimpleNamespace(**vars(time) | {"sleep": lambda seconds: time.sleep(seconds / 50)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handler, "time", clock)
        yield


@pytest.fixture(scope="module")
def sql_server_url():
    """Have SQL_SERVER_URL name a stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        SqlServerDouble().serve(patch)
        yield


@pytest.fixture(scope="module")
def milvus_url(impatient_milvus, tmp_path_factory):
    """Have MILVUS_URL name a stand-in."""
    with serve(tmp_path_factory.mktemp("milvus")):
        yield
