"""Dense search: cosine of the query's vector and every chunk's."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from retrievers.base import IndexReport
from retrievers.corpus import Corpus
from retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from retrievers.legs.reading import find_window, split
from retrievers.models.encoders import AnyEncoder, Encoded, EncoderSettings
from retrievers.models.tokens import Tokenizer
from retrievers.ranking import best
from retrievers.settings import Workshop


class DenseLegSettings(LegSettings):
    """Embeddings and exact cosine search."""

    kind: ClassVar[Kind] = "semantic"
    prefix_stable: ClassVar[bool] = True
    plain: ClassVar[str] = "dense"
    in_engine: ClassVar[str] = "engine_dense"
    type: Literal["dense"]
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )
    windows: Literal["none", "max", "mean"] = Field(
        "none",
        description=(
            "a chunk longer than the encoder reads: none: its end is not read; else it is read in "
            "parts, and scores as the best of them (max) or by the mean of their vectors (mean)"
        ),
    )

    @property
    def cuts_short(self) -> bool:
        """Not where chunks are read in parts."""
        return self.windows == "none"

    def build(self, workshop: Workshop) -> Leg:
        """Return the leg, not yet indexed."""
        return DenseLeg(self, workshop)


class DenseLeg(Leg):
    """Compares the query with all chunks: nothing is approximate."""

    def __init__(self, settings: DenseLegSettings, workshop: Workshop) -> None:
        self._windows = settings.windows
        self._workshop = workshop
        self._encoder = settings.encoder.build(workshop)
        self._matrix = np.empty((0, 0), np.float32)
        # The row at which each chunk begins, where some chunk has several.
        self._starts: NDArray[np.intp] | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks into a matrix of a row a chunk, or a part of a chunk, at best."""
        encoded, texts = self._encode(corpus)
        self._matrix = encoded.vectors
        seconds = self._encoder.recall_seconds(texts)
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={} if seconds is None else {"embed": seconds},
            bytes=self._matrix.nbytes,
            cached=() if encoded.fresh else ("embed",),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the `depth` chunks of greatest cosine; a blank query matches none."""
        if not query.strip() or not len(self._matrix):
            return LegResult([], {"encode": 0.0, "search": 0.0})
        begin = time.perf_counter()
        vector = self._encoder.encode_query(query)
        encoded = time.perf_counter()
        # Row by row on one core: BLAS would give equal rows scores that differ in the last digit,
        # and so break ties at random. On one core it is as fast.
        scores = np.einsum("ij,j->i", self._matrix, vector)
        if self._starts is not None:
            scores = np.maximum.reduceat(scores, self._starts)
        candidates = best(scores, depth)
        end = time.perf_counter()
        return LegResult(
            candidates, {"encode": (encoded - begin) * 1000, "search": (end - encoded) * 1000}
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts of the encoder."""
        return {**self._encoder.facts(), "search": "exact cosine"}

    def _encode(self, corpus: Corpus) -> tuple[Encoded, Sequence[str]]:
        """Return the matrix that is searched, and the texts encoded for it.

        Sets where the chunks begin in it.
        """
        self._starts = None
        texts = [chunk.searchable for chunk in corpus.chunks]
        window = find_window([self._encoder])
        if self._windows == "none" or window is None:
            return corpus.encode(self._encoder), texts
        tokenizer = Tokenizer.default(self._workshop)
        parts = [split(text, window, tokenizer) for text in texts]
        counts = np.array([len(part) for part in parts], np.intp)
        if not len(parts) or counts.max() == 1:
            return corpus.encode(self._encoder), texts
        texts = [text for part in parts for text in part]
        encoded = self._encoder.encode(texts)
        starts = np.cumsum(counts) - counts
        if self._windows == "max":
            self._starts = starts
            return Encoded(encoded.vectors.copy(), encoded.fresh), texts
        sums = np.add.reduceat(encoded.vectors, starts, axis=0)
        means = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return Encoded(means, encoded.fresh), texts
