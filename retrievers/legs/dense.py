"""Dense search: cosine of the query's vector and every chunk's, or of smaller forms of them."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.recall import measure_recall
from assay.retrievers.fusion.ranking import Positions, Scored, best
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings, ScoringLeg
from assay.retrievers.legs.compression import CompressedVectors, Quantisation
from assay.retrievers.legs.truncation import find_bill
from assay.retrievers.legs.windows import WINDOWS, Windows, encode_parts
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.settings import Resources

FEW = 4  # vectors are gathered if at most one in this many may be found


class DenseLegSettings(LegSettings):
    """Embeddings and cosine search: exact, or on shortened or quantised vectors."""

    kind: ClassVar[Kind] = "semantic"
    prefix_stable: ClassVar[bool] = True
    by_vector: ClassVar[bool] = True
    type: Literal["dense"]
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )
    windows: Windows = WINDOWS

    dimensions: int | None = Field(
        None,
        ge=1,
        description=(
            "search by the first so many dimensions alone, for models trained for it (Matryoshka);"
            " all if not given"
        ),
    )
    quantisation: Quantisation = Field(
        "none",
        description=(
            "search by vectors in int8 (a quarter of the bytes) or binary (a thirty-second; scores"
            " are then the cosine of the signs)"
        ),
    )
    rescore: int | None = Field(
        None,
        ge=1,
        description=(
            "how many of the best by shortened or quantised vectors are scored anew by the whole"
            " ones; none if not given"
        ),
    )

    @model_validator(mode="after")
    def _compresses(self) -> "DenseLegSettings":
        if self.rescore and not self.compressed:
            raise ValueError("rescore: needs quantisation or dimensions; else all is exact")
        if self.compressed and self.windows == "max":
            raise ValueError(
                "windows: max is not there with quantisation or dimensions; allowed: none, mean"
            )
        return self

    @property
    def compressed(self) -> bool:
        """True if search uses a smaller form of the vectors."""
        return self.dimensions is not None or self.quantisation != "none"

    @property
    def cuts_short(self) -> bool:
        """Not where chunks are read in parts."""
        return self.windows == "none"

    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
        return DenseLeg(self, resources)


class DenseLeg(ScoringLeg):
    """Compares the query with all chunks, exactly or by a smaller form of their vectors."""

    def __init__(self, settings: DenseLegSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._encoder = settings.encoder.build(resources)
        self._matrix = np.empty((0, 0), np.float32)
        # The row at which each chunk begins, where some chunk has several.
        self._starts: NDArray[np.intp] | None = None
        self._compressed: CompressedVectors | None = None
        self._recall: float | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks into a matrix of a row per chunk, or a part of a chunk, at best."""
        settings = self._settings
        read = encode_parts(corpus, self._encoder, settings.windows, self._resources)
        encoded, texts, self._starts = read.encoded, read.texts, read.starts
        self._matrix = encoded.vectors
        taken = self._encoder.recall_seconds(texts)
        seconds = {} if taken is None else {"embed": taken}
        if self._settings.compressed:
            seconds["compress"] = self._compress()
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds=seconds,
            bytes=self._compressed.bytes if self._compressed else self._matrix.nbytes,
            cached=() if encoded.fresh else ("embed",),
            facts=find_bill(self._encoder, texts),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the `depth` chunks of greatest cosine; a blank query matches none."""
        return self.search_near(query, (), depth)

    def search_near(self, query: str, passages: Sequence[str], depth: int) -> LegResult:
        """Return the `depth` chunks of greatest cosine to the mean of query and `passages`."""
        if not query.strip() or not len(self._matrix):
            return LegResult([], {"encode": 0.0, "search": 0.0})
        watch = Stopwatch()
        with charges.watch() as watched:
            vector = self._encoder.encode_near(query, passages)
        watch.stop("encode", watched.waited)
        if self._compressed:
            candidates = self._compressed.search(vector, depth)
        else:
            candidates = self._search_exactly(vector, depth)
        watch.stop("search")
        return LegResult(
            candidates, watch.wall, counts=watched.counts, waited=watched.waited, cpu=watch.cpu
        )

    def restrict(self, allowed: Positions) -> Leg | None:
        """Return the same leg for some of the chunks; None if vectors are stored smaller.

        With smaller vectors, the chunks to be compared exactly depend on all chunks found.
        """
        return None if self._compressed else super().restrict(allowed)

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder, and of smaller vectors their form and recall."""
        if self._compressed is None:
            return {**self._encoder.metadata(), "search": "exact cosine"}
        return {
            **self._encoder.metadata(),
            "search": self._compressed.description,
            **({} if self._recall is None else {"recall_against_exact": self._recall}),
        }

    def _compress(self) -> float:
        """Make the smaller form, measure its recall, and return the seconds of making it."""
        settings = self._settings
        begin = time.perf_counter()
        self._compressed = CompressedVectors(
            self._matrix, settings.dimensions, settings.quantisation, settings.rescore
        )
        seconds = time.perf_counter() - begin
        self._recall = None
        if len(self._matrix):
            self._recall = measure_recall(self._compressed.search, self._matrix)
        return seconds

    def _search_exactly(self, vector: Vectors, depth: int) -> Sequence[Scored]:
        # Row by row: a product of matrix and vector would give equal rows scores that differ in the
        # last digit, and so break ties at random. On one core it is no faster.
        allowed, rows = self._allowed, len(self._matrix)
        if allowed is not None and self._starts is None and len(allowed) * FEW < rows:
            found = best(np.vecdot(self._matrix[allowed], vector), depth)
            return [(int(allowed[i]), score) for i, score in found]
        scores = np.vecdot(self._matrix, vector)
        if self._starts is not None:
            scores = np.maximum.reduceat(scores, self._starts)
        return best(scores, depth, allowed)
