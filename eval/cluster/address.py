"""Where a cluster is: HOST:PORT of its head."""

import re
import socket

from assay.retrievers.base import AssayError

CONNECT_SECONDS = 5.0
ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")


def check_address(address: str) -> str:
    """Return an address at which somebody listens. Raises AssayError."""
    if address.startswith("ray://"):
        raise AssayError(
            f"--ray {address}: addresses of Ray's client are not taken; call this on a machine of"
            " the cluster, with HOST:PORT of its head"
        )
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise AssayError(f"--ray {address}: not an address; allowed: local, HOST:PORT")
    try:
        with socket.create_connection(
            (found["host"].strip("[]"), int(found["port"])), CONNECT_SECONDS
        ):
            return address
    except OSError as error:
        reason = error.strerror or str(error)
        raise AssayError(f"--ray {address}: nothing answers there: {reason}") from None
