"""SQL Server 2025 and Azure SQL: exact dense search in tables of vectors."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field

from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import COSINE, Formula
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.servers.store import GONE, TAKEN, Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings.trust import SAFEGUARD

VECTOR = Feature("the type VECTOR", (17, 0))
# Engine editions of Azure SQL, which has the type whatever its version says.
AZURE = (5, 8, 12)
LONGEST = 1998  # dimensions of a vector

# The driver has no parameters for vectors: they travel as JSON arrays. In {name} and {size} stand
# what this project makes; all that comes from elsewhere is a parameter.
VERSION = """SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)),
CAST(SERVERPROPERTY('EngineEdition') AS int)"""
HAS_NOTES = "SELECT OBJECT_ID('assay_notes', 'U')"
NOTES = "SELECT name, note FROM assay_notes"
MAKE_NOTES = """IF OBJECT_ID('assay_notes', 'U') IS NULL
CREATE TABLE assay_notes (name nvarchar(128) NOT NULL PRIMARY KEY, note nvarchar(max) NOT NULL)"""
DROP_NOTE = "DELETE FROM assay_notes WHERE name = ?"
ADD_NOTE = "INSERT INTO assay_notes (name, note) VALUES (?, ?)"
MAKE = """IF OBJECT_ID('{name}', 'U') IS NULL
CREATE TABLE {name} (position int NOT NULL PRIMARY KEY, vector VECTOR({size}) NOT NULL)"""
TAKE_OUT = """DELETE FROM {name}
WHERE position IN (SELECT CAST(value AS int) FROM OPENJSON(?))"""
PUT = """INSERT INTO {name} (position, vector)
SELECT position, CAST(vector AS VECTOR({size}))
FROM OPENJSON(?) WITH (position int, vector nvarchar(max) AS JSON)"""
COUNT = "SELECT COUNT(*) FROM {name}"
DROP = "DROP TABLE IF EXISTS {name}"
NEAREST = """SELECT TOP (?) position,
1 - VECTOR_DISTANCE('cosine', vector, CAST(CAST(? AS nvarchar(max)) AS VECTOR({size}))) AS score
FROM {name}{allowed} ORDER BY score DESC, position"""
ALLOWED = " WHERE position IN (SELECT CAST(value AS int) FROM OPENJSON(?))"


class SqlServerStore(Store):
    """A table of positions and vectors a collection; its note is a row of the table assay_notes."""

    engine = "sql-server"
    vendor = "SQL Server"
    key = "SQL_SERVER_PASSWORD"
    user = "SQL_SERVER_USER"
    address = re.compile(r"sqlserver://([A-Za-z0-9.-]+)(?::([0-9]+))?/([A-Za-z0-9_-]+)/?")
    address_words = "sqlserver://HOST:PORT/DATABASE"
    settings: "SqlServerSettings"
    code_key = "driver_error"
    faults: ClassVar[Mapping[str, Fault]] = {
        "Invalid authorization specification": Fault("answered", status=401),
        "Timeout expired": Fault("late"),
        "Connection timeout expired": Fault("late"),
        "Client unable to establish connection": Fault("lost"),
        "Communication link failure": Fault("lost"),
        "Connection not open": Fault("lost"),
        "Connection operation failed": Fault("lost"),
        "Serialization failure": Fault("answered", status=503),
        "Base table or view not found": Fault("answered", status=GONE),
        "Base table or view already exists": Fault("answered", status=TAKEN),
        "InterfaceError": Fault("lost"),
        "DatabaseError": Fault("answered"),
    }

    def connect(self) -> None:
        """Make a pool of connections."""
        from mssql_python import connect

        where = urlsplit(self.url)
        parts = {
            "Server": f"{where.hostname},{where.port or 1433}",
            "Database": where.path.strip("/"),
            "UID": self.read_user(),
            "PWD": self.secret,
            "Encrypt": "yes",
            "TrustServerCertificate": "no" if self.settings.verify_certs else "yes",
        }
        told = "".join(f"{key}={_brace(value)};" for key, value in parts.items())
        seconds = max(1, round(self.settings.timeout_seconds))

        def open_one() -> Any:
            connection = connect(told, autocommit=False, timeout=seconds)
            connection.timeout = seconds
            return connection

        self._pool: Pool[Any] = Pool(open_one)

    def read_version(self) -> str:
        """Return the server's version. Raises AssayError if it has no type VECTOR."""
        version, edition = self._run((VERSION, ()))[0]
        if edition in AZURE:
            return f"{version} (Azure SQL)"
        if lack := VECTOR.find_lack(version):
            raise self.refuse(lack)
        return str(version)

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the table, and its note."""
        if dimensions > LONGEST:
            raise self.refuse(
                f"vectors of {dimensions} dimensions; a column holds {LONGEST} at most"
            )
        made = MAKE.format(name=name, size=dimensions)
        self._run((made, ()), *_write_note(name, note))

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows in place of those at the same positions, in one transaction."""
        places = json.dumps([row.position for row in rows])
        told = json.dumps([{"position": row.position, "vector": row.vector} for row in rows])
        added = PUT.format(name=name, size=len(rows[0].vector))
        self._run((TAKE_OUT.format(name=name), (places,)), (added, (told,)))

    def find_notes(self) -> dict[str, str]:
        """Return the notes, where the table is there."""
        if self._run((HAS_NOTES, ()))[0][0] is None:
            return {}
        return dict(tuple(row) for row in self._run((NOTES, ())))

    def mark(self, name: str, note: str) -> None:
        """Put the note in place of the one before."""
        self._run(*_write_note(name, note))

    def count(self, name: str) -> int:
        """Return how many rows there are."""
        return int(self._run((COUNT.format(name=name), ()))[0][0])

    def remove(self, name: str) -> None:
        """Remove the table, and then the note."""
        self._run((DROP.format(name=name), ()), (DROP_NOTE, (name,)))

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows, each compared."""
        given: list[Any] = [limit, json.dumps(vector.tolist())]
        among = ""
        if target.allowed is not None:
            among = ALLOWED
            given.append(json.dumps(target.allowed.tolist()))
        statement = NEAREST.format(name=target.name, size=len(vector), allowed=among)
        found = self._run((statement, given))
        return [(int(position), float(score)) for position, score in found]

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._pool.close()

    @classmethod
    def say(cls, error: Exception) -> object:
        """Return the server's words, without those of the driver."""
        return getattr(error, "ddbc_error", "") or getattr(error, "driver_error", error)

    def _run(self, *statements: tuple[str, Sequence[Any]]) -> list[Any]:
        """Return the rows of the last of several statements, which are one transaction."""
        with self._pool.lend() as connection, _open_cursor(connection.cursor) as cursor:
            for statement, given in statements:
                cursor.execute(statement, *given)
            rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return rows


class SqlServerSettings(ServerSettings):
    """SQL Server, at SQL_SERVER_URL: exact search by vectors alone; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        lists=("dense",),
        extra="sql-server",
        modules=("mssql_python",),
        packages=("mssql-python",),
        address="SQL_SERVER_URL",
        features=(VECTOR,),
        restricts=True,
    )
    store: ClassVar[type[Store]] = SqlServerStore
    type: Literal["sql-server"] = "sql-server"
    exact: Literal[True] = Field(True, description="every vector is compared")
    verify_certs: Annotated[bool, SAFEGUARD] = Field(
        True, description="refuse a certificate that cannot be verified"
    )

    def make_formula(self) -> Formula:
        """Return the description of the dense list."""
        return COSINE


def _write_note(name: str, note: str) -> list[tuple[str, Sequence[Any]]]:
    """Return the statements that put a note in place of the one before."""
    return [(MAKE_NOTES, ()), (DROP_NOTE, (name,)), (ADD_NOTE, (name, note))]


@contextmanager
def _open_cursor(make: Callable[[], Any]) -> Iterator[Any]:
    cursor = make()
    try:
        yield cursor
    finally:
        cursor.close()


def _brace(value: str) -> str:
    """Return a value of a connection string, escaped so that none of its characters ends it."""
    return "{" + value.replace("}", "}}") + "}"
