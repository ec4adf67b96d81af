"""Where a Qdrant server answers gRPC, and what goes wrong there.

Needs the extra `qdrant` but for its ports: import grpc where it is used.
"""

import os
import socket
from typing import Any
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError
from assay.retrievers.services.addresses import read_port, shorten
from assay.retrievers.services.retries import DENIED_RPC

GRPC_PORT = "QDRANT_GRPC_PORT"
REST_PORT, DEFAULT_GRPC_PORT = 6333, 6334
# A host that neither answers nor refuses is given up after this time.
PROBE_SECONDS = 1.0
# A server that comes back is found soon, not after the two minutes that a channel may wait.
OPTIONS = {"grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 2000}


def find_grpc_port(url: str) -> int | None:
    """Return the port on which the server at `url` answers gRPC; None for REST alone.

    It is that of QDRANT_GRPC_PORT, of which 0 means none. Where that is not set it is Qdrant's own,
    if the server has Qdrant's own port for REST too: another one's may be another server. Raises
    AssayError for a port that is none, or that is named and does not answer.
    """
    named = os.environ.get(GRPC_PORT)
    parts = urlsplit(url)
    if not named and (parts.port not in (None, REST_PORT) or parts.path):
        return None
    port = read_port("qdrant", GRPC_PORT, DEFAULT_GRPC_PORT, least=0)
    if port == 0:
        return None
    try:
        socket.create_connection((parts.hostname, port), PROBE_SECONDS).close()
    except OSError as error:
        if named:
            raise AssayError(
                f"qdrant at {url}: gRPC at port {port} cannot be reached: {shorten(error)}; "
                f"{GRPC_PORT} names another port, or 0 for REST alone"
            ) from None
        return None
    return port


def describe_rpc(error: Any, port: int | None, timeout: int, key: str) -> str:
    """Return in words why a call by gRPC failed; `key` is the variable that holds the key."""
    where, status = f"gRPC at port {port}", error.code().name
    if status in DENIED_RPC:
        return f"{where} refuses the key ({status}); set {key} to one that it knows"
    if status == "DEADLINE_EXCEEDED":
        return f"{where}: no answer within {timeout} s"
    if status == "UNAVAILABLE":
        return f"{where} cannot be reached: {shorten(error.details())}; {GRPC_PORT}=0 is REST alone"
    return f"{where} answered {status}: {shorten(error.details())}"
