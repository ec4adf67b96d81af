"""Vectors made smaller: their first dimensions, in int8 or in one bit each; the best rescored.

- The first dimensions of a vector, at unit length again, stand for the whole, where the model was
  trained for it (Kusupati et al., "Matryoshka Representation Learning", arXiv:2205.13147).
- int8: a vector times 127 / its greatest absolute value, rounded. The query stays as it is.
- binary: the sign of each dimension, of the query's too. The score is the cosine of the signs,
  1 - 2 * (signs that differ) / dimensions.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import AssayError
from assay.retrievers.fusion.ranking import Scored, best, ordered
from assay.retrievers.models.base import Vectors

Quantisation = Literal["none", "int8", "binary"]

STEPS = 127
ROWS_PER_BLOCK = 4096  # turned into floats at a time
# The ones among the bits of each byte.
ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
BELOW = 1e-6  # what stands after the rescored scores that much less


class CompressedVectors:
    """Vectors of unit length, searched by a smaller form of them.

    The `rescore` best by that form are scored again by the vectors themselves; the others follow
    in their order, with scores lowered below those.
    """

    def __init__(
        self,
        vectors: Vectors,
        dimensions: int | None,
        quantisation: Quantisation,
        rescore: int | None,
    ) -> None:
        """Raises AssayError if the vectors have fewer dimensions than are wanted."""
        width = vectors.shape[1]
        if dimensions is not None and len(vectors) and dimensions > width:
            raise AssayError(f"dimensions: {dimensions}; the encoder gives {width}")
        self._vectors = vectors
        self._dimensions = min(dimensions or width, width)
        self._quantisation = quantisation
        self._rescore = rescore
        # Of int8, what a step of each row is worth.
        self._steps = np.empty(len(vectors) * (quantisation == "int8"), np.float32)
        blocks = [slice(i, i + ROWS_PER_BLOCK) for i in range(0, len(vectors), ROWS_PER_BLOCK)]
        self._codes = np.concatenate([self._encode(block) for block in blocks or [slice(0)]])

    @property
    def bytes(self) -> int:
        """The bytes that a search reads; the vectors themselves count only if they rescore."""
        whole = self._vectors.nbytes if self._rescore else 0
        return self._codes.nbytes + self._steps.nbytes + whole

    @property
    def description(self) -> str:
        """The form of the vectors and the rescoring, for people."""
        form = "cosine" if self._quantisation == "none" else self._quantisation
        told = f"{form} of {self._dimensions} dimensions"
        return f"{told}, {self._rescore} rescored" if self._rescore else told

    def search(self, vector: Vectors, depth: int) -> Sequence[Scored]:
        """Return the `depth` best rows, best first; a smaller depth gives the head of the list."""
        scores = self._score(_shorten(vector[None], self._dimensions)[0])
        if self._rescore is None:
            return best(scores, depth)
        found = best(scores, max(depth, self._rescore))
        chosen = [position for position, _ in found[: self._rescore]]
        exact = np.vecdot(self._vectors[chosen], vector)
        rescored = ordered(zip(chosen, exact.tolist(), strict=True))
        others = found[self._rescore :]
        if others:
            lowered = max(others[0][1] - rescored[-1][1], 0.0) + BELOW
            rescored += [(position, score - lowered) for position, score in others]
        return rescored[:depth]

    def _encode(self, block: slice) -> NDArray[Any]:
        vectors = _shorten(self._vectors[block], self._dimensions)
        if self._quantisation == "binary":
            return np.packbits(vectors > 0, axis=1)
        if self._quantisation == "int8":
            greatest = np.abs(vectors).max(axis=1, initial=1e-12)
            self._steps[block] = greatest / STEPS
            return np.round(vectors / self._steps[block, None]).astype(np.int8)
        return vectors

    def _score(self, vector: Vectors) -> NDArray[np.floating]:
        """Return a score per row, computed row by row: equal rows get equal scores."""
        if self._quantisation == "binary":
            differing = ONES[self._codes ^ np.packbits(vector > 0)].sum(axis=1)
            signs: NDArray[np.float64] = 1 - 2 * differing / self._dimensions
            return signs
        scores = np.empty(len(self._codes), np.float32)
        for begin in range(0, len(scores), ROWS_PER_BLOCK):
            block = slice(begin, begin + ROWS_PER_BLOCK)
            rows = self._codes[block].astype(np.float32, copy=False)
            np.vecdot(rows, vector, out=scores[block])
        return scores * self._steps if self._quantisation == "int8" else scores


def _shorten(vectors: Vectors, dimensions: int) -> Vectors:
    if dimensions == vectors.shape[1]:
        return vectors
    head = vectors[:, :dimensions]
    lengths = np.linalg.norm(head, axis=1, keepdims=True)
    return np.ascontiguousarray(head / np.maximum(lengths, 1e-12))
