"""Rows in DuckDB: a table of ids and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles
from assay.retrievers.engines.duckdb.file import FILE, OFFLINE
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import duckdb

NEIGHBOURS = """SELECT id, array_cosine_similarity(embedding, $vector::FLOAT[{dimensions}])::DOUBLE
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
        statement = NEIGHBOURS.format(dimensions=len(vector))
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
