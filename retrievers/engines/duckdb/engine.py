"""DuckDB: its extensions fts and vss in one database file, fused in one SQL statement."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.retrievers.base import AssayError
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles, LiveRows
from assay.retrievers.engines.duckdb.file import (
    APPROXIMATE,
    EXACT,
    FILE,
    OFFLINE,
    attach_file,
    build_file,
    find_extension,
    open_file,
)
from assay.retrievers.engines.duckdb.settings import DuckDbFileSettings
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.statements import BareConnection, Select, StatementEngine
from assay.retrievers.fusion.ranking import DECIMALS, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import duckdb


ALLOWED = "position IN (SELECT unnest($allowed::BIGINT[]))"
# The engine adds up in an order of its own, by thread and by text. Rounding keeps equal evidence
# equal; null is the score of a text that shares no term.
MATCHES = f"""SELECT position, round(score, {DECIMALS}) AS score FROM (
    SELECT position, fts_main_texts.match_bm25(position, $text, k := $k1, b := $b) AS score
    FROM texts WHERE {{allowed}}
) WHERE score IS NOT NULL ORDER BY 2 DESC, position LIMIT $keyword_depth"""
NEIGHBOURS = """SELECT position,
    array_cosine_similarity(embedding, $vector::FLOAT[{dimensions}])::DOUBLE AS score
FROM texts WHERE {allowed} ORDER BY score DESC, position LIMIT $dense_depth"""
# The graph is used only where the bare distance is selected and ordered by, and nothing else.
GRAPH_NEIGHBOURS = """SELECT position, 1 - distance::DOUBLE AS score FROM (
    SELECT position, array_cosine_distance(embedding, $vector::FLOAT[{dimensions}]) AS distance
    FROM texts ORDER BY distance LIMIT $dense_depth
)"""


class DuckDbSettings(DuckDbFileSettings):
    """DuckDB, in this process: its BM25 and cosine or HNSW search fused in one SQL statement."""

    def build(self, resources: Resources) -> "DuckDbEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `duckdb` is not installed.
        """
        return DuckDbEngine(self, resources)


class OpenIndex(NamedTuple):
    """A database in memory to which the file is attached, and connections to it.

    `turn` is held by who searches: in a graph, which is not safe among threads, one after another.
    """

    database: "duckdb.DuckDBPyConnection"
    pool: "Pool[duckdb.DuckDBPyConnection]"
    turn: AbstractContextManager[Any]


class DuckDbEngine(
    StatementEngine[DuckDbSettings, OpenIndex], EmbeddedEngine[DuckDbSettings, OpenIndex]
):
    """One table of positions, texts and vectors, with the tables and macros of its term index.

    The file is attached read-only to a database in memory, by any number of engines and processes.
    """

    def open_live(self, dimensions: int) -> LiveRows:
        """Return rows of a table, each compared."""
        return open_rows(dimensions, self._resources.threads)

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        settings = self._settings
        bm25 = settings.bm25.model_dump(exclude={"k1", "b"})
        return [bm25, *([] if settings.exact else [settings.m, settings.ef_construction])]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_file(folder / FILE, texts, vectors, self._settings)

    def _open(self, folder: Path) -> OpenIndex:
        extensions = EXACT if self._exact else APPROXIMATE
        database = open_file(folder / FILE, self._resources.threads, extensions)
        turn = nullcontext() if self._exact else Lock()
        return OpenIndex(database, Pool(lambda: self._connect(database)), turn)

    def _release(self, opened: OpenIndex) -> None:
        opened.pool.close()
        opened.database.close()

    def _connect(self, database: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
        """Open one more connection to the database: what it sets holds for itself alone."""
        connection = database.cursor()
        connection.execute("USE store")
        if not self._settings.exact:
            connection.execute(f"SET hnsw_ef_search = {self._settings.ef_search}")
        return connection

    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        # With a condition the graph is not used: every text that may be found is compared.
        exact = self._settings.exact or self._allowed is not None
        statement = NEIGHBOURS if exact else GRAPH_NEIGHBOURS
        return self._select(
            statement.replace("{dimensions}", str(len(vector))),
            vector=vector.tolist(),
            dense_depth=limit,
        )

    def _select_keyword(self, text: str, limit: int) -> Select:
        bm25 = self._settings.bm25
        return self._select(MATCHES, text=text, k1=bm25.k1, b=bm25.b, keyword_depth=limit)

    def _select(self, statement: str, **parameters: Any) -> Select:
        """Return a statement for the texts that may be found."""
        if self._allowed is None:
            return Select(statement.format(allowed="true"), parameters)
        listed = self._allowed.tolist()
        return Select(statement.format(allowed=ALLOWED), {**parameters, "allowed": listed})

    def _connect_bare(self, opened: OpenIndex) -> BareConnection:
        import duckdb

        with opened.pool.lend() as other:
            name = "SELECT path FROM duckdb_databases() WHERE database_name = 'store'"
            (path,) = other.execute(name).fetchone() or ("",)
        connection = duckdb.connect()
        for extension in EXACT if self._exact else APPROXIMATE:
            connection.load_extension(find_extension(extension))
        attach_file(connection, path)
        connection.execute("USE store")
        return BareConnection(
            lambda *asked: connection.execute(*asked).fetchall(), connection.close
        )

    def _ask(
        self, opened: OpenIndex, statement: str, parameters: Mapping[str, Any]
    ) -> list[Scored]:
        import duckdb

        try:
            with opened.turn, opened.pool.lend() as connection:
                rows: list[Scored] = connection.execute(statement, parameters).fetchall()
        except duckdb.Error as error:
            raise AssayError(f"engine duckdb: {str(error).splitlines()[0]}") from None
        return rows


LIVE_NEIGHBOURS = """
SELECT id, array_cosine_similarity(embedding, $vector::FLOAT[{dimensions}])::DOUBLE
FROM rows ORDER BY 2 DESC, id LIMIT $limit"""


@dataclass
class DuckDbRows(LiveFiles):
    """A table of a database file, which is searched as it was when a search began."""

    database: "duckdb.DuckDBPyConnection"
    pool: "Pool[duckdb.DuckDBPyConnection]"

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows after those of the same ids are removed, all at once."""
        import pyarrow as pa

        flat = pa.array(vectors.reshape(-1))
        given = pa.table(
            {
                "id": pa.array(ids, pa.int32()),
                "embedding": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
            }
        )
        with self.pool.lend() as connection:
            connection.register("given", given)
            connection.execute("BEGIN")
            connection.execute("DELETE FROM rows WHERE id IN (SELECT id FROM given)")
            connection.execute("INSERT INTO rows SELECT * FROM given")
            connection.execute("COMMIT")
            connection.unregister("given")

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        with self.pool.lend() as connection:
            connection.execute("DELETE FROM rows WHERE list_contains($ids, id)", {"ids": list(ids)})

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows."""
        statement = LIVE_NEIGHBOURS.format(dimensions=len(vector))
        with self.pool.lend() as connection:
            given = {"vector": vector.tolist(), "limit": limit}
            found: list[Scored] = connection.execute(statement, given).fetchall()
        return found

    def release(self) -> None:
        """Close the connections and the database."""
        self.pool.close()
        self.database.close()


def open_rows(dimensions: int, threads: int) -> DuckDbRows:
    """Return an empty table."""
    import duckdb

    folder = OwnFolder("duckdb")
    try:
        options = {**OFFLINE, "threads": threads}
        database = duckdb.connect(str(folder.path / FILE), config=options)
        database.execute(f"CREATE TABLE rows (id INTEGER, embedding FLOAT[{dimensions}])")
    except BaseException:
        folder.close()
        raise
    return DuckDbRows(database, Pool(database.cursor), folder=folder)
