"""Addresses of servers from the environment, and what servers say in one line."""

import os
import re
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError, cut

_ADDRESS = re.compile(r"https?://[^@\s/?#]+(/[^@\s?#]*)?")
LONGEST = 240


def read_address(engine: str, variable: str) -> str:
    """Return the address that the environment `variable` holds, without a slash at its end.

    Raises AssayError, which repeats nothing of the value: it may hold a password.
    """
    address = os.environ.get(variable, "")
    if not address:
        raise AssayError(
            f"engine {engine}: set {variable} to the server's address, http://HOST:PORT"
        )
    try:
        fits = _ADDRESS.fullmatch(address) and urlsplit(address).port != 0
    except ValueError:
        fits = False
    if not fits:
        raise AssayError(
            f"engine {engine}: {variable} is no address of a server; allowed: http://HOST:PORT or "
            "https://HOST:PORT, without user and password"
        )
    return address.rstrip("/")


def read_port(engine: str, variable: str, default: int, least: int = 1) -> int:
    """Return the port, from `least` on, that the environment `variable` names, or the default one.

    Raises AssayError.
    """
    given = os.environ.get(variable) or str(default)
    if not (given.isascii() and given.isdigit() and least <= int(given) < 65536):
        raise AssayError(f"engine {engine}: {variable} is no port; allowed: {least} to 65535")
    return int(given)


def shorten(reason: object) -> str:
    """Return the message of a server or its client as one line of limited length."""
    return cut(" ".join(str(reason).split()), LONGEST)
