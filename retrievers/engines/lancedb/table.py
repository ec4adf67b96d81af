"""Building and opening a table of LanceDB."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.engines.lancedb.settings import (
    LanceFtsSettings,
    LanceIndexSettings,
    LanceTableSettings,
)
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import lancedb.table
    import pyarrow as pa

TABLE = "texts"
ROWS_PER_BATCH = 1 << 14
# Of unit vectors the cosine. With `cosine` a quantised index gives the squared distance instead.
METRIC = "dot"


class OpenIndex(NamedTuple):
    """A table, the ids of its rows by the position of their text, ascending, and threads."""

    table: "lancedb.table.Table"
    rows: NDArray[np.int64]
    pool: ThreadPoolExecutor

    def positions(self, found: "pa.Table") -> list[int]:
        """Return the positions of rows that were found, in their order."""
        ids = found["_rowid"].to_numpy().astype(np.int64)
        return [int(i) for i in np.searchsorted(self.rows, ids)]


def build_table(
    path: Path, texts: Sequence[str], vectors: Vectors, settings: LanceTableSettings
) -> None:
    """Make a database at `path` with one row a text, in their order, and its indexes."""
    import lancedb
    import pyarrow as pa

    size = vectors.shape[1]
    schema = pa.schema({"text": pa.string(), "vector": pa.list_(pa.float32(), size)})

    def batch() -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(texts), ROWS_PER_BATCH):
            rows = slice(begin, begin + ROWS_PER_BATCH)
            numbers = pa.array(vectors[rows].ravel(), pa.float32())
            columns = [
                pa.array(texts[rows], pa.string()),
                pa.FixedSizeListArray.from_arrays(numbers, size),
            ]
            yield pa.record_batch(columns, schema)

    table = lancedb.connect(path).create_table(TABLE, batch(), schema)
    table.create_index("text", config=_configure_terms(settings.fts))
    if settings.index.type != "flat":
        table.create_index("vector", config=_configure_vectors(settings.index))


def open_table(path: Path) -> OpenIndex:
    """Open the table at `path`."""
    import lancedb

    table = lancedb.connect(path).open_table(TABLE)
    rows = table.search().select(["_rowid"]).with_row_id(True).to_arrow()["_rowid"]
    pool = ThreadPoolExecutor(thread_name_prefix="lancedb")
    return OpenIndex(table, np.sort(rows.to_numpy().astype(np.int64)), pool)


def _configure_terms(settings: LanceFtsSettings) -> Any:
    from lancedb.index import FTS

    return FTS(
        base_tokenizer=settings.tokenizer,
        language=settings.language.capitalize(),
        stem=settings.stem,
        remove_stop_words=settings.stop_words,
        ascii_folding=settings.ascii_folding,
        max_token_length=settings.max_token_length,
        num_workers=1,  # else half of the processor's cores: the index must not depend on them
    )


def _configure_vectors(settings: LanceIndexSettings) -> Any:
    from lancedb.index import HnswFlat, HnswSq, IvfFlat, IvfPq

    count = settings.partitions
    if settings.type == "ivf-flat":
        return IvfFlat(METRIC, count)
    if settings.type == "ivf-pq":
        return IvfPq(METRIC, count, settings.sub_vectors)
    graph = HnswFlat if settings.type == "hnsw-flat" else HnswSq
    return graph(METRIC, count, m=settings.m, ef_construction=settings.ef_construction)
