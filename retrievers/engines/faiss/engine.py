"""FAISS: vectors alone, in an index that is one file."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.faiss.settings import FaissFileSettings, FaissIndexSettings
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import COSINE, OneList
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import faiss


ESTIMATE = OneList("an estimate of the cosine, from quantised vectors")
# What of the index's settings counts only when it is searched.
SEARCHING = {"ef", "nprobe", "refine_factor"}


class FaissSettings(FaissFileSettings):
    """FAISS, in this process: vectors alone, exact, HNSW or IVF-PQ; fused here with other legs."""

    def build(self, resources: Resources) -> "FaissEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `faiss` is not installed.
        """
        return FaissEngine(self, resources)


class FaissEngine(EmbeddedEngine[FaissSettings, "faiss.Index"]):
    """An index in which a text's position is its id, mapped into memory by any number of processes.

    Vectors have unit length, so that their inner product is the cosine.
    """

    @property
    def formula(self) -> Formula:
        """The cosine, or what stands for it where vectors are quantised."""
        index = self._settings.index
        keeps_vectors = index.type in ("flat", "hnsw") or (
            index.type == "ivf-pq" and index.refine_factor is not None
        )
        return COSINE if keeps_vectors else ESTIMATE

    _sorts_dense = True

    @property
    def _exact(self) -> bool:
        index = self._settings.index
        return index.type == "flat" or (
            index.type == "ivf-pq" and not can_train(self._texts, index)
        )

    def _shape(self) -> Sequence[Any]:
        index = self._settings.index
        if index.type == "flat":
            return [index.type]
        return [index.model_dump(exclude=SEARCHING), bool(index.refine_factor)]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_file(folder / FILE, vectors, self._settings.index)

    def _open(self, folder: Path) -> "faiss.Index":
        return open_file(folder / FILE)

    def _search_dense(self, opened: "faiss.Index", vector: Vectors, limit: int) -> list[Scored]:
        most = min(limit, self._texts)
        rows = opened.search(vector[None], most, params=self._tell_search(most))
        scores, positions = rows[0][0], rows[1][0]
        if positions[-1] < 0:  # -1 fills what was not found
            scores, positions = scores[positions >= 0], positions[positions >= 0]
        # The best come first. A search takes so little that sorting all of it would show beside it.
        texts: list[int] = positions.tolist()
        begin = end = 0  # of those of one score
        for i in np.flatnonzero(scores[1:] == scores[:-1]).tolist():
            begin, end = begin if i < end else i, i + 2
            texts[begin:end] = sorted(texts[begin:end])
        return list(zip(texts, scores.tolist(), strict=True))

    def _tell_search(self, most: int) -> "faiss.SearchParameters | None":
        import faiss

        index, selector = self._settings.index, self._select()
        if self._exact:
            return None if selector is None else faiss.SearchParameters(sel=selector)
        if index.type in ("hnsw", "hnsw-sq"):
            width = max(index.ef, most)
            if self._allowed is not None:  # so that as many of them are met as of all
                share = len(self._allowed) / self._texts
                width = min(math.ceil(width / share), self._texts)
            return faiss.SearchParametersHNSW(efSearch=width, sel=selector)
        probing = faiss.SearchParametersIVF(nprobe=index.nprobe, sel=selector)
        if index.refine_factor is None:
            return probing
        return faiss.IndexRefineSearchParameters(
            k_factor=index.refine_factor, base_index_params=probing
        )

    def _select(self) -> "faiss.IDSelector | None":
        """Return a bitmap of the texts that may be found; None where all may be."""
        if self._allowed is None:
            return None
        import faiss

        chosen = np.zeros(self._texts, bool)
        chosen[self._allowed] = True
        return faiss.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))


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
        elif settings.type in ("hnsw", "hnsw-sq"):
            index = _start_graph(vectors, settings)
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


def _start_graph(vectors: Vectors, settings: FaissIndexSettings) -> "faiss.Index":
    import faiss

    dimensions, product = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if settings.type == "hnsw-sq":
        code = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexHNSWSQ(dimensions, code, settings.m, product)
        index.train(vectors)
    else:
        index = faiss.IndexHNSWFlat(dimensions, settings.m, product)
    index.hnsw.efConstruction = settings.ef_construction
    return index


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
