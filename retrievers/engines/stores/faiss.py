"""FAISS: vectors alone, in an index that is one file."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import AdapterSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import COSINE, Formula, OneList
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings

if TYPE_CHECKING:
    import faiss


ESTIMATE = OneList("an estimate of the cosine, from quantised vectors")
# What of the index's settings counts only when it is searched.
SEARCHING = {"ef", "nprobe", "refine_factor"}


class FaissIndexSettings(Settings):
    """FAISS' index: all vectors, an HNSW graph of them, or partitions of quantised ones."""

    type: Literal["flat", "hnsw", "hnsw-sq", "ivf-pq"] = Field(
        "flat",
        description=(
            "flat compares with every vector; the others are approximate. hnsw-sq keeps 8 bits of "
            "each number of a vector. Fewer texts than ivf-pq has codes (2 to the power of "
            "`bits`) cannot train it, and are searched flat"
        ),
    )
    m: int = Field(
        32, ge=2, le=256, description="HNSW: edges of a node; at its lowest level twice as many"
    )
    ef_construction: int = Field(
        128, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef: int = Field(
        64, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )
    partitions: int | None = Field(
        None,
        ge=1,
        description="IVF: partitions of k-means; null: the square root of the number of texts",
    )
    nprobe: int = Field(8, ge=1, description="IVF: partitions that are searched")
    sub_vectors: int | None = Field(
        None,
        ge=1,
        description=(
            "PQ: equal parts of a vector, each a code; null: as many as have eight dimensions or "
            "a few more"
        ),
    )
    bits: int = Field(8, ge=4, le=8, description="PQ: bits of a code")
    refine_factor: int | None = Field(
        None,
        ge=1,
        description=(
            "PQ: this many times the candidates are compared exactly, for which the vectors are "
            "kept too; null: none, and scores are estimates"
        ),
    )
    seed: int = Field(1234, ge=0, le=2**31 - 1, description="IVF and PQ: seed of their k-means")


class FaissSettings(AdapterSettings):
    """FAISS, in this process: vectors alone, exact, HNSW or IVF-PQ; fused here with other legs."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        approximate=("hnsw", "hnsw-sq", "ivf-pq"),
        lists=("dense",),
        extra="faiss",
        modules=("faiss",),
        packages=("faiss-cpu",),
        restricts=True,
        reproducible="always",
    )
    type: Literal["faiss"]
    index: FaissIndexSettings = Field(
        default_factory=FaissIndexSettings, description="the engine's dense index"
    )

    def make_formula(self) -> Formula:
        """Return the cosine, or its approximation if vectors are quantised."""
        index = self.index
        keeps_vectors = index.type in ("flat", "hnsw") or (
            index.type == "ivf-pq" and index.refine_factor is not None
        )
        return COSINE if keeps_vectors else ESTIMATE

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        if self.index.type == "flat":
            return [self.index.type]
        return [self.index.model_dump(exclude=SEARCHING), bool(self.index.refine_factor)]

    def is_exact(self, texts: int) -> bool:
        """Return True if dense search in `texts` texts compares the query with every vector."""
        index = self.index
        return index.type == "flat" or (index.type == "ivf-pq" and not can_train(texts, index))

    def build(self, resources: Resources) -> "FaissEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `faiss` is not installed.
        """
        return FaissEngine(self, resources)


class FaissEngine(EmbeddedEngine[FaissSettings, "faiss.Index"]):
    """An index in which a text's position is its id, mapped into memory by any number of processes.

    Vectors have unit length, so that their inner product is the cosine.
    """

    _sorts_dense = True

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
        # The best come first. A search is so fast that sorting everything would take a visible
        # share of its time.
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
                share = len(self._allowed.positions) / self._texts
                width = min(math.ceil(width / share), self._texts)
            return faiss.SearchParametersHNSW(efSearch=width, sel=selector)
        probing = faiss.SearchParametersIVF(nprobe=index.nprobe, sel=selector)
        if index.refine_factor is None:
            return probing
        return faiss.IndexRefineSearchParameters(
            k_factor=index.refine_factor, base_index_params=probing
        )

    def _select(self) -> "faiss.IDSelector | None":
        """Return a bitmap of the texts that may be found; None if all may be."""
        if self._allowed is None:
            return None
        import faiss

        chosen = np.zeros(self._texts, bool)
        chosen[self._allowed.positions] = True
        return faiss.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))


FILE = "store.faiss"
PART = 8  # dimensions of a part of a vector, at least


def build_file(path: Path, vectors: Vectors, settings: FaissIndexSettings) -> None:
    """Write an index of `vectors`, whose rows are its ids.

    One thread builds: of several, each adds to a graph what it happens to have, and on processors
    that are busy they wait for each other. Raises AssayError if the vectors cannot be cut into
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
    """Return True if there are as many texts as a part has codes."""
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
