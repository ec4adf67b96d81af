"""Dense search: cosine of the query's vector and every chunk's."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from retrievers.base import IndexReport
from retrievers.corpus import Corpus
from retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from retrievers.models.encoders import AnyEncoder, CachingEncoder, EncoderSettings
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

    def build(self, workshop: Workshop) -> Leg:
        """Return the leg, not yet indexed."""
        return DenseLeg(self.encoder.build(workshop))


class DenseLeg(Leg):
    """Compares the query with all chunks: nothing is approximate."""

    def __init__(self, encoder: CachingEncoder) -> None:
        self._encoder = encoder
        self._matrix = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks into a matrix of shape (chunks, dimensions)."""
        begin = time.perf_counter()
        encoded = corpus.encode(self._encoder)
        self._matrix = encoded.vectors
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={"embed": time.perf_counter() - begin},
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
        candidates = best(np.einsum("ij,j->i", self._matrix, vector), depth)
        end = time.perf_counter()
        return LegResult(
            candidates, {"encode": (encoded - begin) * 1000, "search": (end - encoded) * 1000}
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts of the encoder."""
        return {**self._encoder.facts(), "search": "exact cosine"}
