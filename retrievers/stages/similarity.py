"""How close the passages of a list lie to one another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.caching import CachingEncoder


class Similarity:
    """The cosines of indexed chunks. Vectors are shared with every leg of the same encoder."""

    def __init__(self, encoder: CachingEncoder) -> None:
        self._encoder = encoder
        self._positions: Mapping[str, int] = {}
        self._vectors: Vectors = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> None:
        """Encode the chunks, where that has not been done."""
        self._positions = corpus.positions
        self._vectors = corpus.encode(self._encoder).vectors

    def compare(self, hits: Sequence[Hit]) -> NDArray[np.floating]:
        """Return the cosine of every two of `hits`, shape (hits, hits)."""
        rows = self._vectors[[self._positions[hit.chunk.id] for hit in hits]]
        return np.asarray(rows @ rows.T)

    def metadata(self) -> Mapping[str, Any]:
        """The facts of the encoder."""
        return self._encoder.metadata()


def keep_unlike(similarity: NDArray[np.floating], threshold: float) -> list[int]:
    """Return the rows that remain when each that resembles a kept one before it is dropped.

    `similarity` has shape (hits, hits); two rows resemble each other from `threshold`.
    """
    kept: list[int] = []
    close = similarity >= threshold
    for row in range(len(close)):
        if not close[row, kept].any():
            kept.append(row)
    return kept
