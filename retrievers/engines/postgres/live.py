"""Rows in PostgreSQL: a table of ids and vectors."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.engines.postgres.server import MARK, PostgresServer
from assay.retrievers.engines.postgres.table import write_vector
from assay.retrievers.engines.servers.servers import name_index
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

CREATE = """CREATE UNLOGGED TABLE {table} (
    id integer PRIMARY KEY, embedding vector({dimensions}) NOT NULL
);
COMMENT ON TABLE {table} IS {stamp}"""
PUT = """INSERT INTO {table} SELECT id, embedding::vector
FROM unnest(%s::integer[], %s::text[]) AS given(id, embedding)
ON CONFLICT (id) DO UPDATE SET embedding = EXCLUDED.embedding"""
NEIGHBOURS = """SELECT id, -(embedding <#> %(vector)s::vector) FROM {table}
ORDER BY embedding <#> %(vector)s::vector, id LIMIT %(limit)s"""


class PostgresRows(LiveRows):
    """A table of a name of its own, which `assay engines clean` finds after a kill."""

    def __init__(self, server: PostgresServer, dimensions: int) -> None:
        from psycopg.sql import SQL, Identifier, Literal

        self._server = server
        self._name = name_index(token_hex(8))
        self._table = Identifier(self._name)
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        stamp = json.dumps({"made_by": MARK, "texts": 0, "created": created})
        statement = SQL(CREATE).format(
            table=self._table, dimensions=Literal(dimensions), stamp=Literal(stamp)
        )
        server.run(lambda c: c.execute("CREATE EXTENSION IF NOT EXISTS vector"))
        server.run(lambda c: c.execute(statement))

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows, or replace them."""
        self._run(PUT, [list(ids), [write_vector(vector) for vector in vectors]])

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        self._run("DELETE FROM {table} WHERE id = ANY(%s)", [list(ids)])

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows."""
        from psycopg.sql import SQL

        statement = SQL(NEIGHBOURS).format(table=self._table)
        given = {"vector": write_vector(vector), "limit": limit}
        return self._server.run(lambda c: c.execute(statement, given).fetchall())

    def close(self) -> None:
        """Drop the table."""
        self._server.drop(self._name)

    def _run(self, statement: Any, given: Sequence[Any]) -> None:
        from psycopg.sql import SQL

        composed = SQL(statement).format(table=self._table)
        self._server.run(lambda c: c.execute(composed, given))
