"""Building and opening a database file of DuckDB, with extensions from wheels."""

import importlib.resources
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.retrievers.base import AssayError
from assay.retrievers.engines.duckdb.settings import DuckDbFileSettings
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import duckdb


FILE = "store.duckdb"
EXACT = ("fts",)
APPROXIMATE = ("fts", "vss")
# Nothing is ever fetched.
OFFLINE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def build_file(
    path: Path, texts: Sequence[str], vectors: Vectors, settings: DuckDbFileSettings
) -> None:
    """Make a database at `path` with one row a text, and index it.

    One thread builds: of several, each adds to the graph what it happens to have.
    """
    import duckdb
    import pyarrow as pa

    dimensions, bm25 = vectors.shape[1], settings.bm25
    flat = pa.array(vectors.reshape(-1))
    rows = pa.table(
        {
            "position": pa.array(range(len(texts)), pa.int32()),
            "text": pa.array(texts, pa.string()),
            "embedding": pa.FixedSizeListArray.from_arrays(flat, dimensions),
        }
    )
    database = start(1, EXACT if settings.exact else APPROXIMATE)
    try:
        database.execute(f"ATTACH {_quote(str(path))} AS store; USE store")
        database.register("rows", rows)
        database.execute("CREATE TABLE texts AS SELECT * FROM rows")
        database.execute(
            "PRAGMA create_fts_index('texts', 'position', 'text', "
            f"stemmer = '{bm25.stemmer}', stopwords = '{bm25.stop_words}', "
            f"ignore = {_quote(bm25.ignore)}, strip_accents = {int(bm25.strip_accents)}, lower = 1)"
        )
        if not settings.exact:
            database.execute("SET hnsw_enable_experimental_persistence = true")
            database.execute(
                "CREATE INDEX graph ON texts USING HNSW (embedding) WITH (metric = 'cosine', "
                f"M = {settings.m}, M0 = {2 * settings.m}, "
                f"ef_construction = {settings.ef_construction})"
            )
        database.execute("CHECKPOINT store")
    except duckdb.Error as error:
        raise AssayError(f"engine duckdb: {str(error).splitlines()[0]}") from None
    finally:
        database.close()


def open_file(path: Path, threads: int, extensions: Sequence[str]) -> "duckdb.DuckDBPyConnection":
    """Return a database in memory to which that at `path` is attached read-only as `store`.

    Raises what DuckDB raises where the file is broken.
    """
    database = start(threads, extensions)
    attach_file(database, str(path))
    database.execute("SELECT count(*) FROM store.fts_main_texts.docs").fetchall()
    return database


def attach_file(database: "duckdb.DuckDBPyConnection", path: str) -> None:
    """Attach the database at `path` read-only as `store`."""
    database.execute(f"ATTACH {_quote(path)} AS store (READ_ONLY)")


def start(threads: int, extensions: Sequence[str]) -> "duckdb.DuckDBPyConnection":
    """Return an empty database in memory with extensions, each from a wheel of its own."""
    import duckdb

    database = duckdb.connect(":memory:", config={**OFFLINE, "threads": threads})
    for name in extensions:
        database.execute(f"LOAD {_quote(find_extension(name))}")
    return database


def find_extension(name: str) -> str:
    """Return the path of an extension. Raises AssayError where it is of another version."""
    import duckdb

    folder = importlib.resources.files(f"duckdb_extension_{name}")
    file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.is_file():
        raise AssayError(
            f"engine duckdb: duckdb-extension-{name} is of another version than duckdb "
            f"{duckdb.__version__}; the extra `duckdb` brings those that agree"
        )
    return str(file)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
