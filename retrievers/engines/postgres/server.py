"""Connections to a PostgreSQL server, and what this project keeps there."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from assay.retrievers.base import AssayError
from assay.retrievers.engines.postgres.embedded import CAPABILITIES, EmbeddedServer
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.servers.servers import IndexServer, StoredIndex, is_index_name
from assay.retrievers.services.retries import RetrySettings, call

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

T = TypeVar("T")

ALLOWED = (
    f"allowed in {CAPABILITIES.address} is postgresql://user:password@host:port/database, "
    "special characters as in %40; without it the embedded server is used"
)
PASSING = ("57P01", "57P02", "57P03", "53300")  # shut down, crashed, starting, too many clients
PASSING_CLASSES = ("08", "40")  # connection lost, transaction rolled back
TIMED_OUT = "57014"
MARK = "assay"
LIST = """
    SELECT relname, obj_description(oid, 'pg_class'), pg_total_relation_size(oid)
    FROM pg_class WHERE relkind = 'r' AND relname LIKE 'assay%' AND pg_table_is_visible(oid)
    ORDER BY relname
"""


class PostgresServer(IndexServer):
    """The server of POSTGRES_URL, or without one the embedded server below the cache root.

    `session` gives the server's settings in every connection. Connections are made when needed,
    and again where they are lost: a call that failed for it is made again.
    """

    def __init__(
        self, root: Path, retries: RetrySettings, timeout: float, session: Mapping[str, str]
    ) -> None:
        CAPABILITIES.load("psycopg")  # the embedded server is started when it is needed
        self._retries = retries
        self._timeout = timeout
        self._session = {"statement_timeout": f"{timeout * 1e3:.0f}", **session}
        self._dsn = parse_url(os.environ.get(CAPABILITIES.address, ""))
        self._embedded = None if self._dsn else EmbeddedServer(root)
        self._connections = Pool(self._connect, is_lost=lambda connection: connection.broken)

    @property
    def url(self) -> str:
        """Host, port and database, or the folder of the embedded server."""
        if self._embedded:
            return f"embedded server in {self._embedded.folder}"
        return "postgresql://{host}:{port}/{dbname}".format(**{**_defaults(), **self._dsn})

    def run(self, action: Callable[["Connection"], T]) -> T:
        """Return what `action` gives with a connection, which is in autocommit.

        Raises AssayError where the server fails for good.
        """
        import psycopg

        def attempt() -> T:
            with self._connections.lend() as connection:
                return action(connection)

        try:
            return call(attempt, self._retries, is_passing)
        except psycopg.Error as error:
            raise self._explain(error) from None

    def read_version(self) -> str:
        """Return the server's version; an embedded one is started for it."""
        (version,) = self.run(lambda c: c.execute("SHOW server_version").fetchone()) or ("",)
        return str(version).partition(" ")[0]

    def list_stored(self) -> list[StoredIndex]:
        """Return the tables whose comment says that this project made them."""
        if self._embedded and not self._embedded.exists:
            return []
        rows = self.run(lambda connection: connection.execute(LIST).fetchall())
        return [
            StoredIndex(name, stamp.get("texts", 0), size, stamp.get("created", ""))
            for name, comment, size in rows
            if is_index_name(name) and (stamp := read_stamp(comment))
        ]

    def drop(self, name: str) -> None:
        """Drop one of these tables."""
        from psycopg.sql import SQL, Identifier

        if not is_index_name(name):
            raise AssayError(
                f"postgres: {name}: not made here; such names are assay_0123456789abcdef"
            )
        if name in {index.name for index in self.list_stored()}:
            statement = SQL("DROP TABLE IF EXISTS {}").format(Identifier(name))
            self.run(lambda connection: connection.execute(statement))

    def close(self) -> None:
        """Close the connections; an embedded server that nobody else uses then stops."""
        self._connections.close()
        if self._embedded:
            self._embedded.close()

    def _find_target(self) -> dict[str, Any]:
        """Return the address of the server, of which an embedded one is started."""
        if not self._embedded:
            return self._dsn
        socket = self._embedded.find_socket()
        return {"host": str(socket), "user": "postgres", "dbname": "postgres", "port": "5432"}

    def _connect(self) -> "Connection":
        import psycopg

        target = self._find_target()
        reply = max(2, round(self._timeout))
        defaults = {"connect_timeout": reply, "tcp_user_timeout": reply * 1000}
        connection = psycopg.connect(
            **{**defaults, **target}, autocommit=True, client_encoding="UTF8"
        )
        connection.execute(
            "SELECT set_config(key, value, false) FROM json_each_text(%s::json)",
            [json.dumps(self._session)],
        )
        return connection

    def _explain(self, error: "psycopg.Error") -> AssayError:
        """Return what the user can mend, without any password."""
        if is_denied(error):
            problem = f"refuses the user or the password; {ALLOWED}"
        elif error.sqlstate == TIMED_OUT:
            problem = f"took longer than {self._timeout:g} s; the setting `timeout` allows more"
        elif error.sqlstate is None:
            problem = f"cannot be reached: {_reason(error)}; {ALLOWED}"
        else:
            problem = _reason(error)
        return AssayError(f"postgres: {self.url}: {problem}")


def parse_url(url: str) -> dict[str, Any]:
    """Return the parts of the address of a server; none of an empty one."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its message may hold a part of the password
        raise AssayError(f"postgres: {CAPABILITIES.address} is malformed; {ALLOWED}") from None
    port = str(parts.get("port", "")).replace(",", "")
    misread = any("@" in str(parts.get(name, "")) for name in ("host", "dbname"))
    if misread or not (port == "" or port.isdigit()):
        raise AssayError(f"postgres: {CAPABILITIES.address} is malformed; {ALLOWED}")
    return parts


def read_stamp(comment: str | None) -> dict[str, Any] | None:
    """Return what the comment of a table says of it; None where this project did not write it."""
    try:
        stamp = json.loads(comment or "")
    except ValueError:
        return None
    return stamp if isinstance(stamp, dict) and stamp.get("made_by") == MARK else None


def is_passing(error: Exception) -> bool:
    """Say whether the same call may succeed a little later."""
    import psycopg

    if not isinstance(error, psycopg.OperationalError) or is_denied(error):
        return False
    state = error.sqlstate
    return state is None or state in PASSING or state[:2] in PASSING_CLASSES


def is_denied(error: Exception) -> bool:
    """Say whether the server let nobody in with these credentials, in whatever language."""
    connection: Any = getattr(error, "pgconn", None)
    if connection is None or getattr(error, "sqlstate", None):
        return False
    return bool(connection.needs_password or connection.used_password)


def _reason(error: "psycopg.Error") -> str:
    """Return what the server, or its client, says, in one line."""
    return " ".join((error.diag.message_primary or str(error)).split())


def _defaults() -> dict[str, str]:
    """Return what holds where the address does not say, environment variables among it."""
    from psycopg import pq

    given = {
        option.keyword.decode(): (option.val or b"").decode()
        for option in pq.Conninfo.get_defaults()
    }
    return {name: given.get(name, "") for name in ("host", "port", "dbname")}
