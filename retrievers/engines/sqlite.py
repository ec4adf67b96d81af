"""SQLite: FTS5 and sqlite-vec in one database file, fused in one SQL statement."""

import importlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote

from pydantic import Field

from retrievers.base import AssayError, IndexReport
from retrievers.engines.base import Capabilities
from retrievers.engines.pool import Pool
from retrievers.engines.statements import Select, StatementEngine, StatementSettings
from retrievers.models.base import Vectors
from retrievers.ranking import Scored
from retrievers.settings import Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    import apsw

FILE = "store.sqlite"
# FTS5's bm25() takes no others; a term of more than half of the texts weighs 0.000001.
K1, B = 1.2, 0.75
# A vec0 query refuses more neighbours.
MOST_NEIGHBOURS = 4096
NEIGHBOURS = """SELECT rowid AS position, 1 - distance AS score
FROM vectors WHERE embedding MATCH $vector AND k = $dense_depth"""
ALL_NEIGHBOURS = """SELECT rowid AS position, 1 - vec_distance_cosine(embedding, $vector) AS score
FROM vectors ORDER BY score DESC, position LIMIT $dense_depth"""
MATCHES = """SELECT rowid AS position, -bm25(texts) AS score
FROM texts WHERE texts MATCH $terms ORDER BY score DESC, position LIMIT $keyword_depth"""


class SqliteSettings(StatementSettings):
    """SQLite, in this process: FTS5 and sqlite-vec fused in one SQL statement."""

    capabilities: ClassVar[Capabilities] = Capabilities("statement", extra="sqlite")
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

    def build(self, workshop: Workshop) -> "SqliteEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `sqlite` is not installed.
        """
        return SqliteEngine(self, workshop)


class SqliteEngine(StatementEngine):
    """A virtual table of vectors and one of terms, both with a text's position as row id.

    The file is opened read-only, as one that nobody changes, by any number of processes.
    """

    name = "sqlite"

    def __init__(self, settings: SqliteSettings, workshop: Workshop) -> None:
        super().__init__(settings)
        try:
            for module in ("apsw", "sqlite_vec"):
                importlib.import_module(module)
        except ImportError:
            raise AssayError(
                "engine sqlite: needs the extra `sqlite`: pip install 'assay[sqlite]'"
            ) from None
        self._settings = settings
        self._workshop = workshop
        self._pool: Pool[apsw.Connection] | None = None

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Build the database, or find it in the cache, and open it."""
        self.close()
        if not texts:
            return IndexReport(0)
        folder, self._pool = self._workshop.cache.load(
            "sqlite",
            self._key(texts, identity),
            lambda path: self._make(path / FILE, texts, vectors),
            lambda path: _open(path / FILE),
        )
        self._dimensions = vectors.shape[1]
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": folder.seconds},
            bytes=(folder.path / FILE).stat().st_size,
            cached=("engine",) if folder.cached else (),
        )

    def facts(self) -> Mapping[str, Any]:
        """Return also the versions of what SQLite is reached by, and its BM25's constants."""
        import apsw

        return {
            "engine": self.name,
            "version": apsw.sqlite_lib_version(),
            "apsw": apsw.apsw_version(),
            "sqlite_vec": version("sqlite-vec"),
            "exact": True,
            "k1": K1,
            "b": B,
        }

    def close(self) -> None:
        """Close the database."""
        if self._pool is not None:
            self._pool.close()
        self._pool, self._dimensions = None, 0

    def _key(self, texts: Sequence[str], identity: str) -> str:
        settings = self._settings
        return digest(
            digest_sources(Path(__file__)),
            version("apsw"),
            version("sqlite-vec"),
            settings.tokenizer,
            settings.remove_diacritics,
            identity,
            texts,
        )

    def _make(self, path: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the database; a file that is made whole or not at all needs no journal."""
        import apsw

        tokenizer = " ".join(_configure_tokenizer(self._settings))
        database = _add_vec0(apsw.Connection(str(path)))
        try:
            database.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            database.execute(
                "CREATE VIRTUAL TABLE vectors USING "
                f"vec0(embedding float[{vectors.shape[1]}] distance_metric=cosine);"
                f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{tokenizer}')"
            )
            with database:
                rows = ((at, row.tobytes()) for at, row in enumerate(vectors))
                database.executemany("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", rows)
                database.executemany(
                    "INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts)
                )
                database.execute("INSERT INTO texts(texts) VALUES ('optimize')")
        except apsw.Error as error:
            raise AssayError(f"engine sqlite: {error}") from None
        finally:
            database.close()

    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        statement = NEIGHBOURS if limit <= MOST_NEIGHBOURS else ALL_NEIGHBOURS
        return Select(statement, {"vector": vector.tobytes(), "dense_depth": limit})

    def _select_keyword(self, text: str, limit: int) -> Select:
        terms = "" if self._pool is None else self._write_terms(text, self._pool)
        return Select(MATCHES, {"terms": terms, "keyword_depth": limit})

    def _write_terms(self, text: str, pool: "Pool[apsw.Connection]") -> str:
        """Return the words of `text`, each term once, as strings of FTS5 joined by OR.

        The table's own tokenizer finds them, so that no character is left to be an operator. That
        of trigrams finds no words: it is given those of unicode61.
        """
        import apsw

        name, *arguments = _configure_tokenizer(self._settings)
        if name == "trigram":
            name, arguments = "unicode61", ["remove_diacritics", "0"]
        encoded = text.encode()
        with pool.lend() as connection:
            tokenizer = connection.fts5_tokenizer(name, arguments)
            found = tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None)
        words: dict[str, str] = {}
        for begin, end, term, *_ in found:
            words.setdefault(term, encoded[begin:end].decode())
        return " OR ".join(f'"{word}"' for word in words.values()) or '""'

    def _ask(self, statement: str, parameters: Mapping[str, Any]) -> list[Scored]:
        import apsw

        if self._pool is None:
            return []
        try:
            with self._pool.lend() as connection:
                rows: list[Scored] = connection.execute(statement, parameters).fetchall()
        except apsw.Error as error:
            raise AssayError(f"engine sqlite: {error}") from None
        return rows


def _configure_tokenizer(settings: SqliteSettings) -> list[str]:
    """Return the tokenizer's name and arguments, as FTS5 takes them."""
    strip = settings.remove_diacritics
    # 1 is unicode61's older way, which misses letters with two marks.
    level = ("1" if strip else "0") if settings.tokenizer == "trigram" else ("2" if strip else "0")
    return [*settings.tokenizer.split(), "remove_diacritics", level]


def _add_vec0(database: "apsw.Connection") -> "apsw.Connection":
    """Load sqlite-vec into an open database."""
    import sqlite_vec

    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.enable_load_extension(False)
    return database


def _open(path: Path) -> "Pool[apsw.Connection]":
    """Open the database for reading. Raises what SQLite raises where the file is broken."""
    import apsw

    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    pool = Pool(lambda: _add_vec0(apsw.Connection(address, flags=flags)))
    with pool.lend() as database:
        database.execute("SELECT count(*) FROM vectors_rowids").fetchall()
        database.execute("SELECT count(*) FROM texts_docsize").fetchall()
    return pool
