"""What stands in for a server of Milvus: milvus-lite, which speaks its protocol."""

import logging
from contextlib import contextmanager

import pytest


@contextmanager
def serve(folder):
    """Serve a database over gRPC, and name it in the environment; give the server."""
    module = "milvus_lite.adapter.grpc.server"
    service = pytest.importorskip(module, reason="milvus-lite is not installed")
    pytest.importorskip("pymilvus", reason="needs the extra `milvus`")
    logging.getLogger("milvus_lite").setLevel(logging.CRITICAL + 1)
    server, database, port = service.start_server_in_thread(str(folder / "milvus.db"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MILVUS_URL", f"http://127.0.0.1:{port}")
        patch.delenv("MILVUS_TOKEN", raising=False)
        yield server
    server.stop(grace=0).wait()
    database.close()
