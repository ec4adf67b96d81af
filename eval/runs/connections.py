"""Whether this process holds a connection: what tells of code that does not say what it asks."""

import re
from contextlib import suppress
from pathlib import Path

ESTABLISHED = "01"


def holds_connection() -> bool:
    """Whether this process has a TCP connection open. False where the system does not tell (Linux
    does).
    """
    sockets = set()
    for file in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):  # closed since
            sockets |= set(re.findall(r"^socket:\[(\d+)\]$", str(file.readlink())))
    return any(sockets & _list_established(table) for table in ("tcp", "tcp6"))


def _list_established(table: str) -> set[str]:
    """Return the inodes of sockets with a connection: the tenth column where the fourth says so."""
    try:
        rows = Path("/proc/self/net", table).read_text().splitlines()[1:]
    except OSError:
        return set()
    return {parts[9] for row in rows if (parts := row.split())[3] == ESTABLISHED}
