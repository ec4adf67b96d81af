"""Finding and building the table that holds an index in PostgreSQL."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.engines.adapter import StoredIndex
from assay.retrievers.engines.postgres.server import MARK, read_stamp
from assay.retrievers.engines.servers.servers import name_index
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from assay.retrievers.engines.postgres.server import Connection

OLDEST_VECTOR = (0, 8)
EXACTLY = "%.9g"
INLINE = 1536  # dimensions that are kept in the row: a page of 8 KB holds one such at least
FIND = """
    SELECT obj_description(oid, 'pg_class'), pg_total_relation_size(oid),
        (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
         WHERE attrelid = oid AND attname = 'embedding')
    FROM pg_class WHERE oid = to_regclass(%s)
"""
STAGE = """
    CREATE TEMPORARY TABLE staging (position integer, embedding vector, text text) ON COMMIT DROP
"""
SETTINGS = """
    SELECT set_config('statement_timeout', '0', true),
        set_config('maintenance_work_mem', '256MB', true),
        set_config('max_parallel_maintenance_workers', '0', true)
"""


@dataclass(frozen=True, slots=True)
class Content:
    """What an index holds, by the whole `key` of it, and with what options it is built.

    `index` is the SQL of the dense index after `USING`, empty for none.
    """

    key: str
    identity: str
    dimensions: int
    texts: int
    language: str
    index: str

    @property
    def table(self) -> str:
        """The table's name."""
        return name_index(self.key)


def check_server(connection: "Connection", where: str, language: str) -> dict[str, str]:
    """Return the versions of the server and of pgvector, which is set up where it is not.

    Raises AssayError where pgvector or the text search configuration `language` is missing.
    """
    import psycopg

    try:
        with suppress(psycopg.errors.UniqueViolation):  # another process did it meanwhile
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        raise AssayError(
            f"postgres: {where}: the server has no pgvector; install it there, from 0.8 on"
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        raise AssayError(
            f"postgres: {where}: pgvector is not set up in this database, and this user may not: "
            "have its owner run CREATE EXTENSION vector"
        ) from None
    server, vector, languages = connection.execute(
        "SELECT current_setting('server_version'), "
        "(SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
        "(SELECT array_agg(cfgname::text ORDER BY cfgname) FROM pg_ts_config)"
    ).fetchone() or ("", "", [])
    if tuple(int(part) for part in vector.split(".")[:2]) < OLDEST_VECTOR:
        raise AssayError(f"postgres: {where}: pgvector {vector} is too old; allowed is 0.8 on")
    if language not in languages:
        allowed = ", ".join(languages)
        near = suggest(language, languages)
        raise AssayError(f"postgres: {where}: no language {language!r}; there are: {allowed}{near}")
    return {"version": server.split()[0], "pgvector": vector}


def find_table(connection: "Connection", where: str, content: Content) -> StoredIndex | None:
    """Return the table of `content`, or None where there is none.

    Raises AssayError where another content has its name.
    """
    row = connection.execute(FIND, [content.table]).fetchone()
    if row is None:
        return None
    comment, size, column = row
    stamp = read_stamp(comment) or {}
    expected = _stamp(content)
    found = {name: stamp.get(name) for name in expected}
    if found != expected or column != f"vector({content.dimensions})":
        other = ", ".join(name for name in expected if found[name] != expected[name])
        raise AssayError(
            f"postgres: {where}: table {content.table} holds other than what is indexed "
            f"({other or 'its column is ' + str(column)}); `assay engines clean` drops it, or drop "
            "it there"
        )
    return StoredIndex(stamp["seconds"], size, cached=True)


def make_table(
    connection: "Connection",
    where: str,
    content: Content,
    texts: Sequence[str],
    vectors: Vectors,
) -> StoredIndex:
    """Return the table of `content`, built in one transaction where it is not there.

    Others see it when it is whole, and whatever cuts the transaction off leaves nothing. Of several
    builders of the same table one builds and the others wait.
    """
    with connection.transaction():
        connection.execute(SETTINGS)
        connection.execute(
            "SELECT pg_advisory_xact_lock(%s)", [int(content.key[:16], 16) - (1 << 63)]
        )
        if found := find_table(connection, where, content):
            return found
        begin = time.perf_counter()
        _fill(connection, content, texts, vectors)
        seconds = time.perf_counter() - begin
        _comment(connection, content, seconds)
        row = connection.execute(FIND, [content.table]).fetchone()
    return StoredIndex(seconds, row[1] if row else 0, cached=False)


def clean(text: str) -> str:
    """Return `text` without what the server's UTF-8 cannot hold: NUL and halves of characters."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def write_vector(vector: Vectors) -> str:
    """Return `vector` as pgvector reads it, to the last bit."""
    # Nine digits tell every float32 from the next; more only take time.
    return f"[{','.join([EXACTLY] * len(vector))}]" % tuple(vector.tolist())


def _fill(
    connection: "Connection", content: Content, texts: Sequence[str], vectors: Vectors
) -> None:
    """Write the table's rows, then its indexes."""
    from psycopg.sql import SQL, Identifier, Literal

    table = Identifier(content.table)
    storage = "STORAGE PLAIN" if content.dimensions <= INLINE else ""
    connection.execute(
        SQL(
            "CREATE TABLE {} (position integer NOT NULL, embedding vector({}) {} NOT NULL, "
            "terms tsvector STORAGE MAIN NOT NULL)"
        ).format(table, Literal(content.dimensions), SQL(storage))
    )
    connection.execute(STAGE)
    with connection.cursor() as cursor, cursor.copy("COPY staging FROM STDIN") as copy:
        for position, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            copy.write_row((position, write_vector(vector), clean(text)))
    connection.execute(
        SQL(
            "INSERT INTO {} SELECT position, embedding, to_tsvector({}::regconfig, text) "
            "FROM staging ORDER BY position"
        ).format(table, Literal(content.language))
    )
    connection.execute(SQL("CREATE INDEX ON {} USING gin (terms)").format(table))
    if content.index:
        connection.execute(SQL("CREATE INDEX ON {} USING {}").format(table, SQL(content.index)))
    connection.execute(SQL("ANALYZE {}").format(table))


def _comment(connection: "Connection", content: Content, seconds: float) -> None:
    from psycopg.sql import SQL, Identifier, Literal

    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    stamp = {**_stamp(content), "created": created, "seconds": round(seconds, 4)}
    connection.execute(
        SQL("COMMENT ON TABLE {} IS {}").format(
            Identifier(content.table), Literal(json.dumps(stamp))
        )
    )


def _stamp(content: Content) -> dict[str, Any]:
    return {"made_by": MARK, **asdict(content)}
