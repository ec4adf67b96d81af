"""A SQL Server that knows the approved statements of its adapter, and no other.

What each means is written here in Python, from Microsoft's reference of Transact-SQL: OPENJSON, the
type VECTOR and VECTOR_DISTANCE. A transaction that is not committed leaves nothing.
"""

import copy
import json
import re
import sys
import threading
from types import ModuleType

import numpy as np

NAME = "(assay_[0-9a-f]{16}_[0-9a-f]{8})"
PASSWORD = "se}cret;PWD=x"
VECTOR = r"VECTOR\((\d+)\)"


class SqlServerDouble:
    """Tables and notes, what was asked, and what fails.

    `fault` gives the error of a statement, or None; `statements` are those asked, each once, with
    NAME and SIZE in the place of names and dimensions.
    """

    def __init__(self):
        self.version, self.edition = "17.0.1000.7", 3
        self.tables = {}
        self.notes = None
        self.connections = []
        self.statements = set()
        self.fault = lambda statement: None
        self.lock = threading.RLock()

    def serve(self, patch):
        """Be what the environment names, and what is imported as the driver."""
        made = ModuleType("mssql_python")
        made.connect = self.connect
        patch.setitem(sys.modules, "mssql_python", made)
        patch.setenv("SQL_SERVER_URL", "sqlserver://db.example:1444/passages")
        patch.setenv("SQL_SERVER_USER", "me")
        patch.setenv("SQL_SERVER_PASSWORD", PASSWORD)

    def connect(self, told, autocommit, timeout):
        assert not autocommit
        assert timeout >= 1
        self.connections.append(told)
        if error := self.fault("connect"):
            raise error
        return Connection(self)


class Connection:
    """One connection, which has its own state until it commits."""

    timeout = 0

    def __init__(self, server):
        self.server = server
        self.tables = None
        self.notes = None

    def cursor(self):
        return Cursor(self)

    def begin(self):
        if self.tables is None:
            self.server.lock.acquire()
            self.tables = copy.deepcopy(self.server.tables)
            self.notes = copy.deepcopy(self.server.notes)

    def commit(self):
        if self.tables is not None:
            self.server.tables, self.server.notes = self.tables, self.notes
            self.tables = self.notes = None
            self.server.lock.release()

    def close(self):
        if self.tables is not None:
            self.tables = self.notes = None
            self.server.lock.release()


class Cursor:
    """Executes one statement after the other."""

    def __init__(self, connection):
        self.connection = connection
        self.description = None
        self.rows = []

    def execute(self, statement, *given):
        server = self.connection.server
        plain = re.sub(VECTOR, "VECTOR(SIZE)", re.sub(NAME, "NAME", statement))
        server.statements.add(plain)
        if error := server.fault(plain):
            raise error
        self.connection.begin()
        for pattern, act in MEANINGS.items():
            if match := re.fullmatch(pattern, statement):
                found = act(self.connection, match, given)
                self.description = None if found is None else ["a column"]
                self.rows = found or []
                return
        raise AssertionError(f"no statement of the adapter's: {statement}")

    def fetchall(self):
        return self.rows

    def close(self):
        self.rows = []


def make(connection, match, given):
    assert match[1] == match[2]
    connection.tables.setdefault(match[1], {})


def make_notes(connection, match, given):
    connection.notes = {} if connection.notes is None else connection.notes


def add_note(connection, match, given):
    name, note = given
    assert name not in connection.notes
    connection.notes[name] = note


def put(connection, match, given):
    table = connection.tables[match[1]]
    for row in json.loads(*given):
        assert row["position"] not in table, "the primary key is violated"
        assert len(row["vector"]) == int(match[2])
        table[row["position"]] = np.array(row["vector"], np.float32)


def take_out(connection, match, given):
    for position in json.loads(*given):
        connection.tables[match[1]].pop(position, None)


def nearest(connection, match, given):
    most, vector, *allowed = given
    asked = np.array(json.loads(vector), np.float32)
    assert len(asked) == int(match[1])
    among = set(json.loads(*allowed)) if match[3] else None
    assert bool(allowed) == (among is not None)
    scored = [
        (position, float(row @ asked / np.linalg.norm(row) / np.linalg.norm(asked)))
        for position, row in connection.tables[match[2]].items()
        if among is None or position in among
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:most]


MEANINGS = {
    r"SELECT CAST\(SERVERPROPERTY\('ProductVersion'\) AS nvarchar\(128\)\),\n"
    r"CAST\(SERVERPROPERTY\('EngineEdition'\) AS int\)": lambda c, m, g: [
        (c.server.version, c.server.edition)
    ],
    r"SELECT OBJECT_ID\('assay_notes', 'U'\)": lambda c, m, g: [(None if c.notes is None else 7,)],
    r"SELECT name, note FROM assay_notes": lambda c, m, g: list(c.notes.items()),
    r"IF OBJECT_ID\('assay_notes', 'U'\) IS NULL\nCREATE TABLE assay_notes "
    r"\(name nvarchar\(128\) NOT NULL PRIMARY KEY, note nvarchar\(max\) NOT NULL\)": make_notes,
    r"DELETE FROM assay_notes WHERE name = \?": lambda c, m, g: c.notes.pop(*g, None) and None,
    r"INSERT INTO assay_notes \(name, note\) VALUES \(\?, \?\)": add_note,
    rf"IF OBJECT_ID\('{NAME}', 'U'\) IS NULL\nCREATE TABLE {NAME} "
    rf"\(position int NOT NULL PRIMARY KEY, vector {VECTOR} NOT NULL\)": make,
    rf"DELETE FROM {NAME}\n"
    r"WHERE position IN \(SELECT CAST\(value AS int\) FROM OPENJSON\(\?\)\)": take_out,
    rf"INSERT INTO {NAME} \(position, vector\)\nSELECT position, CAST\(vector AS {VECTOR}\)\n"
    r"FROM OPENJSON\(\?\) WITH \(position int, vector nvarchar\(max\) AS JSON\)": put,
    rf"SELECT COUNT\(\*\) FROM {NAME}": lambda c, m, g: [(len(c.tables[m[1]]),)],
    rf"DROP TABLE IF EXISTS {NAME}": lambda c, m, g: c.tables.pop(m[1], None) and None,
    r"SELECT TOP \(\?\) position,\n1 - VECTOR_DISTANCE\('cosine', vector, "
    rf"CAST\(CAST\(\? AS nvarchar\(max\)\) AS {VECTOR}\)\) AS score\nFROM {NAME}"
    r"( WHERE position IN \(SELECT CAST\(value AS int\) FROM OPENJSON\(\?\)\))? "
    r"ORDER BY score DESC, position": nearest,
}
