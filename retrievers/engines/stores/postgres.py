"""PostgreSQL with pgvector: dense search, full-text search and their fusion in one statement."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.servers.embedded_postgres import CAPABILITIES, EmbeddedServer
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.servers.store import LATER, TAKEN, Fault, Row, Store, Target
from assay.retrievers.engines.statements import Select, StatementSettings
from assay.retrievers.engines.stores.postgres_indexes import (
    DenseIndex,
    ExactScan,
    TextSearchSettings,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

ALLOWED = (
    f"allowed in {CAPABILITIES.address} is postgresql://user:password@host:port/database, "
    "special characters as in %40; without it the embedded server is used"
)
OLDEST_VECTOR = (0, 8)
EXACTLY = "%.9g"
INLINE = 1536  # most dimensions kept in the row: a page of 8 KB holds at least one such vector
# What could change answers, or their speed from one query to the next, is the same on each server.
SESSION = {
    "gin_fuzzy_search_limit": "0",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "standard_conforming_strings": "on",
}
# Vectors have unit length, so that their inner product is the cosine; <#> is its negative. An index
# gives rows by distance alone, and can be used for no other order.
NEIGHBOURS = """SELECT position, -(embedding <#> $vector::vector) AS score FROM {table}
WHERE {allowed} ORDER BY embedding <#> $vector::vector{ties} LIMIT $dense_depth"""
# Each lexeme of the query is quoted, so that no character of it is an operator.
MATCHES = r"""SELECT position, {rank}(terms, query, {normalisation})::float8 AS score
FROM {table}, (
    SELECT string_agg(
        '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | '
    )::tsquery AS query
    FROM unnest(tsvector_to_array(to_tsvector('{language}'::regconfig, $text))) AS lexeme
) AS question
WHERE terms @@ query AND {allowed} ORDER BY score DESC, position LIMIT $keyword_depth"""
LISTED = "position = ANY($allowed)"
VERSION = """SELECT current_setting('server_version'),
(SELECT extversion FROM pg_extension WHERE extname = 'vector'),
(SELECT array_agg(cfgname::text ORDER BY cfgname) FROM pg_ts_config)"""
TABLES = """SELECT relname, {what} FROM pg_class
WHERE relkind = 'r' AND relname LIKE 'assay\\_%' AND pg_table_is_visible(oid)"""
PATIENT = """SELECT set_config('statement_timeout', '0', true),
set_config('maintenance_work_mem', '256MB', true),
set_config('max_parallel_maintenance_workers', '0', true)"""
CREATE = """CREATE TABLE {name} (position integer PRIMARY KEY,
embedding vector({dimensions}) {storage} NOT NULL, terms tsvector STORAGE MAIN NOT NULL)"""
PUT = """INSERT INTO {name} VALUES (%s, %s, to_tsvector('{language}'::regconfig, %s))
ON CONFLICT DO NOTHING"""


class PostgresStore(Store):
    """A table of a text's position, its vector and its lexemes; the text itself is not kept.

    It is on the server of POSTGRES_URL, or without one on the embedded server below the cache's
    root. A note is a table's comment.
    """

    engine = "postgres"
    vendor = "PostgreSQL"
    key = ""
    needs_key = False
    credential = "the user or the password"
    way_out = ALLOWED
    modules = ("psycopg",)  # the embedded server is started when it is needed
    filters_graph = False
    settings: "PostgresSettings"
    code_key = "sqlstate"
    faults: ClassVar[Mapping[str, Fault]] = {
        "57014": Fault("late"),
        "57P01": Fault("answered", status=LATER),  # shut down
        "57P02": Fault("answered", status=LATER),  # crashed
        "57P03": Fault("answered", status=LATER),  # starting
        "53300": Fault("answered", status=LATER),  # too many clients
        "42P07": Fault("answered", status=TAKEN),
        "Error": Fault("answered"),
    }
    # Connection lost, transaction rolled back.
    passing_classes = ("08", "40")

    def read_url(self) -> str:
        """Return host, port and database, or the folder of the embedded server."""
        CAPABILITIES.load(*self.modules)
        self._dsn = _parse_url(os.environ.get(CAPABILITIES.address, ""))
        self._embedded = None if self._dsn else EmbeddedServer(self.root)
        if self._embedded:
            return f"embedded server in {self._embedded.folder}"
        return "postgresql://{host}:{port}/{dbname}".format(**{**_defaults(), **self._dsn})

    def connect(self) -> None:
        """Make a pool of connections, which are made again where they are lost."""
        self._session = {
            "statement_timeout": f"{self.settings.timeout_seconds * 1e3:.0f}",
            **SESSION,
            **self.settings.index.session,
        }
        self._pool = Pool(self._open, is_lost=lambda connection: connection.broken)

    def exists(self) -> bool:
        """Return True if the server is there: an embedded one may never have been started."""
        return self._embedded is None or self.is_engine or self._embedded.exists

    def read_version(self) -> str:
        """Return the server's version; an embedded one is started for it."""
        return str(self._run("SHOW server_version")[0][0]).partition(" ")[0]

    def prepare(self, texts: Sequence[str], dimensions: int) -> dict[str, Any]:
        """Return the version of pgvector, which is set up where it is not.

        Raises AssayError if pgvector or the text search configuration is missing.
        """
        from psycopg import errors

        try:
            with suppress(errors.UniqueViolation):  # another process did it meanwhile
                self._run("CREATE EXTENSION IF NOT EXISTS vector")
        except (errors.FeatureNotSupported, errors.UndefinedFile):
            raise self.refuse("the server has no pgvector; install it there, from 0.8 on") from None
        except errors.InsufficientPrivilege:
            raise self.refuse(
                "pgvector is not set up in this database, and this user may not: have its owner "
                "run CREATE EXTENSION vector"
            ) from None
        ((_, vector, languages),) = self._run(VERSION)
        if tuple(int(part) for part in vector.split(".")[:2]) < OLDEST_VECTOR:
            raise self.refuse(f"pgvector {vector} is too old; allowed is 0.8 on")
        if (language := self.settings.text.language) not in languages:
            near = suggest(language, languages)
            there = ", ".join(languages)
            raise self.refuse(f"no language {language!r}; there are: {there}{near}")
        return {"pgvector": vector}

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the table with its comment, in one transaction."""
        storage = "STORAGE PLAIN" if dimensions <= INLINE else ""
        statement = CREATE.format(name=name, dimensions=dimensions, storage=storage)

        def act() -> None:
            with self._pool.lend() as connection, connection.transaction():
                connection.execute(statement)
                connection.execute(_comment(name, note))

        self.make(act)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows, in one transaction; those that are there already are left."""
        statement = PUT.format(name=name, language=self.settings.text.language)
        given = [
            (row.position, _write_vector(np.asarray(row.vector)), _clean(row.text)) for row in rows
        ]
        with self._pool.lend() as connection, connection.transaction():
            connection.cursor().executemany(statement, given)

    def finish(self, name: str) -> None:
        """Make the indexes, in one transaction."""
        index = self.settings.index.definition
        with self._pool.lend() as connection, connection.transaction():
            connection.execute(PATIENT)
            for part, definition in (("terms", "gin (terms)"), ("dense", index)):
                if definition:
                    connection.execute(
                        f"CREATE INDEX IF NOT EXISTS {name}_{part} ON {name} USING {definition}"
                    )
            connection.execute(f"ANALYZE {name}")

    def count(self, name: str) -> int:
        """Return how many rows there are."""
        return int(self._run(f"SELECT count(*) FROM {name}")[0][0])

    def mark(self, name: str, note: str) -> None:
        """Put the note into the comment."""
        with self._pool.lend() as connection:
            connection.execute(_comment(name, note))

    def find_notes(self) -> dict[str, str]:
        """Return the comments of the tables that may be this project's."""
        rows = self._run(TABLES.format(what="obj_description(oid, 'pg_class')"))
        return {name: comment or "" for name, comment in rows}

    def find_sizes(self) -> dict[str, int]:
        """Return the sizes of tables with their indexes."""
        return dict(self._run(TABLES.format(what="pg_total_relation_size(oid)")))

    def remove(self, name: str) -> None:
        """Drop the table."""
        self._run(f"DROP TABLE IF EXISTS {name}")

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts."""
        return self._ask(self._select_dense(target, vector, limit).listed)

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a lexeme."""
        return self._ask(self._select_keyword(target, text, limit).listed)

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts, from one statement."""
        depth = self.settings.depth
        dense = self._select_dense(target, vector, depth.dense)
        keyword = self._select_keyword(target, text, depth.keyword)
        return self._ask(self.settings.fuse(dense, keyword, depth.dense + depth.keyword))

    def close(self) -> None:
        """Close the connections; an embedded server that nobody else uses then stops."""
        self._pool.close()
        if self._embedded:
            self._embedded.close()

    @classmethod
    def find_fault(cls, error: Any) -> Fault | None:
        """Return the fault of the table, or of a connection that was not made or was lost."""
        import psycopg

        if isinstance(error, psycopg.OperationalError):
            if _is_denied(error):
                return Fault("answered", status=401)
            if error.sqlstate is None:
                return Fault("lost", f"{cls.say(error)}; {ALLOWED}")
            if error.sqlstate[:2] in cls.passing_classes:
                return Fault("answered", cls.say(error), LATER)
        return super().find_fault(error)

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the message of the server or its client."""
        return error.diag.message_primary or error

    def _select_dense(self, target: Target, vector: Vectors, limit: int) -> Select:
        ties = ", position" if self.settings.is_exact(0) else ""
        statement = NEIGHBOURS.replace("{ties}", ties)
        given = {"vector": _write_vector(vector), "dense_depth": limit}
        return self._select(statement, target, given)

    def _select_keyword(self, target: Target, text: str, limit: int) -> Select:
        given = {"text": _clean(text), "keyword_depth": limit}
        return self._select(MATCHES, target, given)

    def _select(self, statement: str, target: Target, given: Mapping[str, Any]) -> Select:
        """Return a statement for the texts that may be found."""
        listed = {} if target.allowed is None else {"allowed": target.allowed.tolist()}
        among = LISTED if listed else "true"
        words = self.settings.text.model_dump()
        return Select(
            statement.format(table=target.name, allowed=among, **words), {**given, **listed}
        )

    def _ask(self, select: Select) -> list[Scored]:
        translated = _translate(select.statement)
        with self._pool.lend() as connection:
            found = connection.execute(translated, select.parameters, prepare=True)
            rows: list[Scored] = found.fetchall()
            return rows

    def _run(self, statement: str) -> list[Any]:
        """Return the rows of one statement, which is its own transaction."""
        with self._pool.lend() as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _open(self) -> "Connection":
        """Return a connection, which is in autocommit; an embedded server is started for it."""
        import psycopg

        target = self._dsn
        if self._embedded:
            socket = str(self._embedded.find_socket())
            target = {"host": socket, "user": "postgres", "dbname": "postgres", "port": "5432"}
        reply = max(2, round(self.settings.timeout_seconds))
        defaults = {"connect_timeout": reply, "tcp_user_timeout": reply * 1000}
        connection = psycopg.connect(
            **{**defaults, **target}, autocommit=True, client_encoding="UTF8"
        )
        connection.execute(
            "SELECT set_config(key, value, false) FROM json_each_text(%s::json)",
            [json.dumps(self._session)],
        )
        return connection


class PostgresSettings(StatementSettings, ServerSettings):
    """PostgreSQL with pgvector, embedded or that of POSTGRES_URL: both lists in one statement."""

    language_key: ClassVar[str] = "text.language"
    capabilities: ClassVar[Capabilities] = CAPABILITIES
    store: ClassVar[type[PostgresStore]] = PostgresStore
    type: Literal["postgres"]
    text: TextSearchSettings = Field(
        default_factory=TextSearchSettings, description="the engine's keyword index"
    )
    index: DenseIndex = Field(
        default_factory=ExactScan, description="the dense index: exact, hnsw or ivfflat"
    )

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.text.language, self.index.definition]

    def is_exact(self, texts: int) -> bool:
        """Return True if dense search compares with every vector."""
        return self.index.type == "exact"


def _comment(name: str, note: str) -> Any:
    """Return the statement that notes what is in a table."""
    from psycopg.sql import SQL, Identifier, Literal

    return SQL("COMMENT ON TABLE {} IS {}").format(Identifier(name), Literal(note))


def _clean(text: str) -> str:
    """Return `text` without what the server's UTF-8 cannot hold: NUL and halves of characters."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _write_vector(vector: Vectors) -> str:
    """Return `vector` as pgvector reads it, to the last bit."""
    # Nine digits tell every float32 from the next; more only take time.
    return f"[{','.join([EXACTLY] * len(vector))}]" % tuple(vector.tolist())


def _parse_url(url: str) -> dict[str, Any]:
    """Return the parts of the address of a server; none of an empty one."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its message may hold a part of the password
        raise AssayError(
            f"engine postgres: {CAPABILITIES.address} is malformed; {ALLOWED}"
        ) from None
    port = str(parts.get("port", "")).replace(",", "")
    misread = any("@" in str(parts.get(name, "")) for name in ("host", "dbname"))
    if misread or not (port == "" or port.isdigit()):
        raise AssayError(f"engine postgres: {CAPABILITIES.address} is malformed; {ALLOWED}")
    return parts


def _is_denied(error: Exception) -> bool:
    """Return True if the server let nobody in with these credentials, in whatever language."""
    connection: Any = getattr(error, "pgconn", None)
    if connection is None or getattr(error, "sqlstate", None):
        return False
    return bool(connection.needs_password or connection.used_password)


def _defaults() -> dict[str, str]:
    """Return the defaults for parts that the address omits, including environment variables."""
    from psycopg import pq

    given = {
        option.keyword.decode(): (option.val or b"").decode()
        for option in pq.Conninfo.get_defaults()
    }
    return {name: given.get(name, "") for name in ("host", "port", "dbname")}


@lru_cache(64)
def _translate(statement: str) -> str:
    """Return `statement` with its $parameters as psycopg writes them."""
    return re.sub(r"\$([a-z_]+)", r"%(\1)s", statement)
