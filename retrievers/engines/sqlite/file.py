"""Building and opening a database file of SQLite, with the extension sqlite-vec."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import quote

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.statements import StatementSettings
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import apsw


class SqliteFileSettings(StatementSettings):
    """What SQLite can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "statement",
        extra="sqlite",
        modules=("apsw", "sqlite_vec"),
        packages=("apsw", "sqlite-vec"),
        restricts=True,
    )
    type: Literal["sqlite"]
    tokenizer: Literal["porter unicode61", "unicode61", "trigram"] = Field(
        "porter unicode61",
        description=(
            "FTS5's: unicode61 splits at all but letters and digits; porter also stems English; "
            "trigram finds the words of a query also inside of words, from three letters on. None "
            "drops stop words. BM25 has FTS5's fixed k1 = 1.2 and b = 0.75"
        ),
    )
    remove_diacritics: bool = Field(True, description="strip diacritics")


FILE = "store.sqlite"


def build_file(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: SqliteFileSettings,
) -> None:
    """Write the database; a file that is made whole or not at all needs no journal.

    `positions` are those of all texts, in order.
    """
    import apsw

    tokenizer = " ".join(configure_tokenizer(settings))
    database = load_vec0(apsw.Connection(str(path)))
    try:
        database.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        database.execute(
            "CREATE VIRTUAL TABLE vectors USING "
            f"vec0(embedding float[{vectors.shape[1]}] distance_metric=cosine);"
            f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{tokenizer}')"
        )
        with database:
            rows = ((i, row.tobytes()) for i, row in enumerate(vectors))
            database.executemany("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", rows)
            named = ((i, texts[i]) for i in positions)
            database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", named)
            database.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    except apsw.Error as error:
        raise AssayError(f"engine sqlite: {error}") from None
    finally:
        database.close()


def open_file(path: Path) -> "Pool[apsw.Connection]":
    """Open the database for reading. Raises what SQLite raises where the file is broken."""
    import apsw

    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    pool = Pool(lambda: load_vec0(apsw.Connection(address, flags=flags)))
    with pool.lend() as database:
        database.execute("SELECT count(*) FROM vectors_rowids").fetchall()
        database.execute("SELECT count(*) FROM texts_docsize").fetchall()
    return pool


def configure_tokenizer(settings: SqliteFileSettings) -> list[str]:
    """Return the tokenizer's name and arguments, as FTS5 takes them."""
    strip = settings.remove_diacritics
    # 1 is unicode61's older way, which misses letters with two marks.
    level = ("1" if strip else "0") if settings.tokenizer == "trigram" else ("2" if strip else "0")
    return [*settings.tokenizer.split(), "remove_diacritics", level]


def load_vec0(database: "apsw.Connection") -> "apsw.Connection":
    """Load sqlite-vec into an open database."""
    import sqlite_vec

    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.enable_load_extension(False)
    return database
