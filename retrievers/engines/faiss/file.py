"""Building and opening a file of FAISS."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

from assay.retrievers.base import AssayError
from assay.retrievers.engines.faiss.settings import FaissIndexSettings
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import faiss

FILE = "store.faiss"
PART = 8  # dimensions of a part of a vector, at least


def build_file(path: Path, vectors: Vectors, settings: FaissIndexSettings) -> None:
    """Write an index of `vectors`, whose rows are its ids.

    One thread builds: of several, each adds to a graph what it happens to have, and on processors
    that are busy they wait for each other. Raises AssayError where the vectors cannot be cut into
    the parts that were set.
    """
    import faiss

    with _one_thread():
        if settings.type == "ivf-pq" and can_train(len(vectors), settings):
            index = _train(vectors, settings)
        elif settings.type == "hnsw":
            index = faiss.IndexHNSWFlat(vectors.shape[1], settings.m, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = settings.ef_construction
        else:
            index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
    faiss.write_index(index, str(path))


def open_file(path: Path) -> "faiss.Index":
    """Map the index into memory, read-only. Raises what FAISS raises where the file is broken."""
    import faiss

    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC | faiss.IO_FLAG_READ_ONLY)


def can_train(texts: int, settings: FaissIndexSettings) -> bool:
    """Say whether there are as many texts as a part has codes."""
    return texts >= 1 << settings.bits


def _train(vectors: Vectors, settings: FaissIndexSettings) -> "faiss.Index":
    import faiss

    texts, dimensions = vectors.shape
    partitions = min(settings.partitions or isqrt(texts), texts)
    index = faiss.IndexIVFPQ(
        faiss.IndexFlatIP(dimensions),
        dimensions,
        partitions,
        _count_parts(dimensions, settings),
        settings.bits,
        faiss.METRIC_INNER_PRODUCT,
    )
    for clustering in (index.cp, index.pq.cp):
        clustering.seed = settings.seed
        clustering.min_points_per_centroid = 1  # else it warns on standard error
    index.train(vectors)
    return faiss.IndexRefineFlat(index) if settings.refine_factor else index


def _count_parts(dimensions: int, settings: FaissIndexSettings) -> int:
    if settings.sub_vectors is None:
        most = max(dimensions // PART, 1)
        return next(count for count in range(most, 0, -1) if dimensions % count == 0)
    if dimensions % settings.sub_vectors:
        raise AssayError(
            f"engine faiss: index.sub_vectors: {dimensions} dimensions cannot be cut into "
            f"{settings.sub_vectors} equal parts; allowed: their divisors, or null"
        )
    return settings.sub_vectors


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
