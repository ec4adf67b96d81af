"""Learned sparse search: terms weighed by a model, matched exactly on an inverted index."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.ranking import best_matches
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings, ScoringLeg
from assay.retrievers.models.base import SparseVector
from assay.retrievers.models.sparse.sparse import SparseEncoderSettings
from assay.retrievers.settings import Resources


class SparseLegSettings(LegSettings):
    """Learned sparse vectors (SPLADE) and their exact dot product.

    It goes by `keyword`: it matches terms, and its scores have no scale.
    """

    kind: ClassVar[Kind] = "keyword"
    prefix_stable: ClassVar[bool] = True
    type: Literal["sparse"]
    encoder: SparseEncoderSettings = Field(
        default_factory=SparseEncoderSettings, description="the sparse encoder, or its name"
    )

    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
        return SparseLeg(self, resources)


class SparseLeg(ScoringLeg):
    """Finds chunks that share a term with the query, as the model expands both."""

    def __init__(self, settings: SparseLegSettings, resources: Resources) -> None:
        self._encoder = settings.encoder.build(resources)
        self._index = InvertedIndex([])

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks, or find their vectors in the cache, and list them by term."""
        texts = corpus.texts
        encoded = self._encoder.encode(texts)
        self._index = InvertedIndex(encoded.vectors)
        seconds = self._encoder.recall_seconds(texts)
        return IndexReport(
            chunks=len(texts),
            seconds={} if seconds is None else {"embed": seconds},
            bytes=self._index.bytes,
            cached=() if encoded.fresh else ("embed",),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the `depth` chunks of the greatest dot product; a blank query matches none."""
        if not query.strip() or not self._index.chunks:
            return LegResult([], {"encode": 0.0, "search": 0.0})
        watch = Stopwatch()
        vector = self._encoder.encode_query(query)
        watch.stop("encode")
        candidates = best_matches(self._index.score(vector), depth, self._allowed)
        watch.stop("search")
        return LegResult(
            candidates,
            watch.wall,
            counts={"query_terms": len(vector.terms)},
            cpu=watch.cpu,
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder."""
        return {**self._encoder.metadata(), "search": "exact dot product"}


class InvertedIndex:
    """The chunks that hold each term, and with what weight."""

    def __init__(self, vectors: list[SparseVector]) -> None:
        self.chunks = len(vectors)
        terms = np.concatenate([np.empty(0, np.int32), *(vector.terms for vector in vectors)])
        weights = np.concatenate([np.empty(0, np.float32), *(vector.weights for vector in vectors)])
        chunks = np.repeat(np.arange(len(vectors)), [len(vector.terms) for vector in vectors])
        order = np.argsort(terms, kind="stable")
        self._chunks = chunks[order].astype(np.int32)
        self._weights = weights[order]
        highest = int(terms.max(initial=-1))
        self._starts = np.searchsorted(terms[order], np.arange(highest + 2))

    @property
    def bytes(self) -> int:
        """The bytes of the lists."""
        return self._chunks.nbytes + self._weights.nbytes + self._starts.nbytes

    def score(self, query: SparseVector) -> NDArray[np.float64]:
        """Return the dot product of `query` and every chunk, summed in the order of the terms."""
        scores = np.zeros(self.chunks)
        known = query.terms < len(self._starts) - 1
        for term, weight in zip(query.terms[known], query.weights[known], strict=True):
            held = slice(self._starts[term], self._starts[term + 1])
            # A chunk stands once in a term's list, so that no sum is lost.
            scores[self._chunks[held]] += self._weights[held].astype(np.float64) * float(weight)
        return scores
