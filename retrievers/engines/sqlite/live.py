"""Rows in SQLite: a virtual table of sqlite-vec."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.sqlite.file import FILE, load_vec0
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import apsw

BUSY_MS = 10_000  # a writer waits so long for another
NEIGHBOURS = "SELECT rowid, 1 - distance FROM rows WHERE embedding MATCH ? AND k = ?"


@dataclass
class SqliteRows(LiveFiles):
    """A table with a write-ahead log: readers see what was whole when they began."""

    pool: "Pool[apsw.Connection]"

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows after those of the same ids are removed, all at once: it has no other way."""
        rows = zip(ids, (row.tobytes() for row in vectors), strict=True)
        with self.pool.lend() as connection, connection:
            connection.executemany("DELETE FROM rows WHERE rowid = ?", ((id_,) for id_ in ids))
            connection.executemany("INSERT INTO rows(rowid, embedding) VALUES (?, ?)", rows)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        with self.pool.lend() as connection, connection:
            connection.executemany("DELETE FROM rows WHERE rowid = ?", ((id_,) for id_ in ids))

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows."""
        with self.pool.lend() as connection:
            found = connection.execute(NEIGHBOURS, (vector.tobytes(), limit)).fetchall()
        return ordered(found)

    def release(self) -> None:
        """Close the connections."""
        self.pool.close()


def open_rows(dimensions: int) -> SqliteRows:
    """Return an empty table."""
    folder = OwnFolder("sqlite")

    def connect() -> "apsw.Connection":
        import apsw

        connection = load_vec0(apsw.Connection(str(folder.path / FILE)))
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        return connection

    rows = SqliteRows(Pool(connect), folder=folder)
    try:
        with rows.pool.lend() as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE rows USING "
                f"vec0(embedding float[{dimensions}] distance_metric=cosine)"
            )
    except BaseException:
        rows.close()
        raise
    return rows
