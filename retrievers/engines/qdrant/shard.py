"""Building and copying a shard of Qdrant Edge."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.retrievers.engines.qdrant.settings import QdrantBm25Settings, QdrantStoreSettings
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import qdrant_edge

COPY_BLOCK = 1 << 20
# With it a term's weight is its count: (k + 1) tf / (tf + k) tends to tf.
COUNTING_K = 1e6


@dataclass(frozen=True, slots=True)
class OpenShard:
    """An open shard, and the mean number of terms of a text in it."""

    shard: "qdrant_edge.EdgeShard"
    average_terms: float


def make_embedder(
    settings: QdrantBm25Settings, average_terms: float | None = None
) -> "qdrant_edge.Bm25":
    """Return what turns texts into terms and weights; queries need no average."""
    import qdrant_edge as q

    return q.Bm25(
        q.Bm25Config(
            k=settings.k1,
            b=settings.b,
            avg_len=average_terms,
            language=settings.language,
            tokenizer=getattr(q.TokenizerType, settings.tokenizer.capitalize()),
            ascii_folding=settings.ascii_folding,
        )
    )


def measure_terms(texts: Sequence[str], settings: QdrantBm25Settings) -> float:
    """Return the mean number of terms of a text, of which there must be one."""
    counter = make_embedder(settings.model_copy(update={"k1": COUNTING_K, "b": 0.0}))
    return sum(sum(counter.embed_document(text).values) for text in texts) / len(texts)


def make_config(
    dimensions: int, settings: QdrantStoreSettings, threads: int
) -> "qdrant_edge.EdgeConfig":
    """Return the configuration of a shard: exact search builds no graph."""
    import qdrant_edge as q

    # Nodes without edges make no graph; thresholds of 1 kB make one whatever the size.
    graph = q.HnswIndexConfig(
        m=0 if settings.exact else settings.m,
        ef_construct=settings.ef_construct,
        full_scan_threshold=1,
        max_indexing_threads=threads,
    )
    return q.EdgeConfig(
        vectors={"dense": q.EdgeVectorParams(size=dimensions, distance=q.Distance.Dot)},
        sparse_vectors={"keyword": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
        hnsw_config=graph,
        optimizers=q.EdgeOptimizersConfig(indexing_threshold=None if settings.exact else 1),
        max_search_threads=threads,
        wal_enabled=False,
    )


def build_shard(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: QdrantStoreSettings,
    threads: int,
) -> OpenShard:
    """Make a shard at `path` with one point a text, its position as id, and optimise it.

    `positions` are those of all texts, in order.
    """
    import qdrant_edge as q

    average = measure_terms(texts, settings.bm25)
    embedder = make_embedder(settings.bm25, max(average, 1.0))
    path.mkdir()
    shard = q.EdgeShard.create(str(path), make_config(vectors.shape[1], settings, threads))
    for position in positions:
        terms = embedder.embed_document(texts[position])
        point = q.Point(position, {"dense": vectors[position].tolist(), "keyword": terms})
        # The engine stores the points of one update in the order of a hash table that differs each
        # time, by which it then orders equal scores and adds up those of terms.
        shard.update(q.UpdateOperation.upsert_points([point]))
    shard.optimize()
    shard.flush()
    return OpenShard(shard, average)


def copy_shard(source: Path, target: Path) -> Path:
    """Copy the shard at `source` into the folder `target` and return where it lies there."""
    return Path(shutil.copytree(source, target / source.name, copy_function=_copy_sparse))


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file without its blocks of zeros: the engine's files are large and mostly empty."""
    zeros = bytes(COPY_BLOCK)
    with Path(source).open("rb") as reader, Path(target).open("wb") as writer:
        while block := reader.read(COPY_BLOCK):
            if block == zeros[: len(block)]:
                writer.seek(len(block), 1)
            else:
                writer.write(block)
        writer.truncate()
