"""SQLite: FTS5 and sqlite-vec in one database file, fused in one SQL statement."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias
from urllib.parse import quote

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.statements import Select, StatementSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import apsw

FILE = "store.sqlite"
Connections: TypeAlias = "Pool[apsw.Connection]"
# FTS5's bm25() takes no others; a term of more than half of the texts weighs 0.000001.
K1, B = 1.2, 0.75
ALLOWED = "rowid IN (SELECT value FROM json_each($allowed))"
# A vec0 query refuses more neighbours.
MOST_NEIGHBOURS = 4096
NEIGHBOURS = """SELECT rowid AS position, 1 - distance AS score
FROM vectors WHERE embedding MATCH $vector AND k = $dense_depth AND {allowed}"""
ALL_NEIGHBOURS = """SELECT rowid AS position, 1 - vec_distance_cosine(embedding, $vector) AS score
FROM vectors WHERE {allowed} ORDER BY score DESC, position LIMIT $dense_depth"""
MATCHES = """SELECT rowid AS position, -bm25(texts) AS score
FROM texts WHERE texts MATCH $terms AND {allowed}
ORDER BY score DESC, position LIMIT $keyword_depth"""


class SqliteSettings(StatementSettings):
    """SQLite, in this process: FTS5 and sqlite-vec fused in one SQL statement."""

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

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.tokenizer, self.remove_diacritics]

    def build(self, resources: Resources) -> "SqliteEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `sqlite` is not installed.
        """
        return SqliteEngine(self, resources)


class SqliteEngine(EmbeddedEngine[SqliteSettings, Connections]):
    """A virtual table of vectors and one of terms, both with a text's position as row id.

    The file is opened read-only, as one that nobody changes, by any number of processes.
    """

    def metadata(self) -> Mapping[str, Any]:
        """Return also the versions of what SQLite is reached by, and its BM25's constants."""
        import apsw

        return {
            **super().metadata(),
            "version": apsw.sqlite_lib_version(),
            "apsw": apsw.apsw_version(),
            "sqlite_vec": version("sqlite-vec"),
            "k1": K1,
            "b": B,
        }

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        _build_file(folder / FILE, self._track(len(texts)), texts, vectors, self._settings)

    def _open(self, folder: Path) -> Connections:
        return _open_file(folder / FILE)

    def _release(self, opened: Connections) -> None:
        opened.close()

    def _search_dense(self, opened: Connections, vector: Vectors, limit: int) -> list[Scored]:
        return _ask(opened, self._select_dense(vector, limit).listed)

    def _search_keyword(self, opened: Connections, text: str, limit: int) -> list[Scored]:
        return _ask(opened, self._select_keyword(text, limit).listed)

    def _search_hybrid(
        self, opened: Connections, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        dense = self._select_dense(vector, self.depth.dense)
        keyword = self._select_keyword(text, self.depth.keyword)
        return _ask(opened, self._settings.fuse(dense, keyword, limit))

    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        statement = NEIGHBOURS if limit <= MOST_NEIGHBOURS else ALL_NEIGHBOURS
        return self._select(statement, vector=vector.tobytes(), dense_depth=limit)

    def _select_keyword(self, text: str, limit: int) -> Select:
        return self._select(MATCHES, terms=self._write_terms(text), keyword_depth=limit)

    def _select(self, statement: str, **parameters: Any) -> Select:
        """Return a statement for the texts that may be found."""
        if self._allowed is None:
            return Select(statement.format(allowed="true"), parameters)
        listed = json.dumps(self._allowed.tolist())
        return Select(statement.format(allowed=ALLOWED), {**parameters, "allowed": listed})

    def _write_terms(self, text: str) -> str:
        """Return the words of `text`, each term once, as strings of FTS5 joined by OR.

        The table's own tokenizer finds them, so that no character is left to be an operator. That
        of trigrams finds no words: it is given those of unicode61.
        """
        import apsw

        name, *arguments = _configure_tokenizer(self._settings)
        if name == "trigram":
            name, arguments = "unicode61", ["remove_diacritics", "0"]
        encoded = text.encode()
        assert self._opened is not None
        with self._opened.lend() as connection:
            tokenizer = connection.fts5_tokenizer(name, arguments)
            found = tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None)
        words: dict[str, str] = {}
        for begin, end, term, *_ in found:
            words.setdefault(term, encoded[begin:end].decode())
        return " OR ".join(f'"{word}"' for word in words.values()) or '""'


def _ask(opened: Connections, select: Select) -> list[Scored]:
    """Return the rows of a statement."""
    import apsw

    try:
        with opened.lend() as connection:
            rows: list[Scored] = connection.execute(*select).fetchall()
    except apsw.Error as error:
        raise AssayError(f"engine sqlite: {error}") from None
    return rows


def _build_file(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: SqliteSettings,
) -> None:
    """Write the database; a file that is made whole or not at all needs no journal.

    `positions` are those of all texts, in order.
    """
    import apsw

    tokenizer = " ".join(_configure_tokenizer(settings))
    database = _load_vec0(apsw.Connection(str(path)))
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


def _open_file(path: Path) -> "Pool[apsw.Connection]":
    """Open the database for reading. Raises what SQLite raises where the file is broken."""
    import apsw

    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    pool = Pool(lambda: _load_vec0(apsw.Connection(address, flags=flags)))
    with pool.lend() as database:
        database.execute("SELECT count(*) FROM vectors_rowids").fetchall()
        database.execute("SELECT count(*) FROM texts_docsize").fetchall()
    return pool


def _configure_tokenizer(settings: SqliteSettings) -> list[str]:
    """Return the tokenizer's name and arguments, as FTS5 takes them."""
    strip = settings.remove_diacritics
    # 1 is unicode61's older way, which misses letters with two marks.
    level = ("1" if strip else "0") if settings.tokenizer == "trigram" else ("2" if strip else "0")
    return [*settings.tokenizer.split(), "remove_diacritics", level]


def _load_vec0(database: "apsw.Connection") -> "apsw.Connection":
    """Load sqlite-vec into an open database."""
    import sqlite_vec

    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.enable_load_extension(False)
    return database
