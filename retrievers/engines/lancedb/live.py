"""Rows in LanceDB: a table of ids and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles
from assay.retrievers.engines.lancedb.table import METRIC, TABLE
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import lancedb.table
    import pyarrow as pa


@dataclass
class LanceRows(LiveFiles):
    """A table, of which each change is a version."""

    table: "lancedb.table.Table"

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows, or replace them."""
        rows = _make_table(ids, vectors)
        merge = self.table.merge_insert("id").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(rows)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        if ids:
            self.table.delete(f"id IN ({', '.join(map(str, ids))})")

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest rows."""
        query = self.table.search(vector, vector_column_name="vector", query_type="vector")
        query = query.distance_type(METRIC).limit(limit).select(["id", "_distance"])
        found = query.to_arrow()
        far = found["_distance"].to_pylist()
        return [(id_, 1 - away) for id_, away in zip(found["id"].to_pylist(), far, strict=True)]

    def release(self) -> None:
        """Nothing: a table has nothing to close."""


def open_rows(dimensions: int) -> LanceRows:
    """Return an empty table."""
    import lancedb
    import numpy as np

    folder = OwnFolder("lancedb")
    try:
        empty = _make_table([], np.zeros((0, dimensions), np.float32))
        table = lancedb.connect(folder.path).create_table(TABLE, schema=empty.schema)
    except BaseException:
        folder.close()
        raise
    return LanceRows(table, folder=folder)


def _make_table(ids: Sequence[int], vectors: Vectors) -> "pa.Table":
    import pyarrow as pa

    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.ravel(), pa.float32()), vectors.shape[1]
            ),
        }
    )
