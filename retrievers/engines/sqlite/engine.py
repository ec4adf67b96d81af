"""SQLite: FTS5 and sqlite-vec in one database file, fused in one SQL statement."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from assay.retrievers.base import AssayError
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.sqlite.file import (
    FILE,
    SqliteFileSettings,
    build_file,
    configure_tokenizer,
    open_file,
)
from assay.retrievers.engines.statements import Select, StatementEngine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import apsw


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


class SqliteSettings(SqliteFileSettings):
    """SQLite, in this process: FTS5 and sqlite-vec fused in one SQL statement."""

    def build(self, resources: Resources) -> "SqliteEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `sqlite` is not installed.
        """
        return SqliteEngine(self, resources)


class SqliteEngine(
    StatementEngine[SqliteSettings, Connections], EmbeddedEngine[SqliteSettings, Connections]
):
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

    @property
    def _exact(self) -> bool:
        return True

    def _shape(self) -> Sequence[Any]:
        return [self._settings.tokenizer, self._settings.remove_diacritics]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_file(folder / FILE, self._track(len(texts)), texts, vectors, self._settings)

    def _open(self, folder: Path) -> Connections:
        return open_file(folder / FILE)

    def _release(self, opened: Connections) -> None:
        opened.close()

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

        name, *arguments = configure_tokenizer(self._settings)
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

    def _ask(
        self, opened: Connections, statement: str, parameters: Mapping[str, Any]
    ) -> list[Scored]:
        import apsw

        try:
            with opened.lend() as connection:
                rows: list[Scored] = connection.execute(statement, parameters).fetchall()
        except apsw.Error as error:
            raise AssayError(f"engine sqlite: {error}") from None
        return rows
