"""The pairs of hit and gold item that cover each other, of many queries at once, in arrays.

The rule is that of `assay.eval.scoring.join.covers`.
"""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import GoldItem
from assay.retrievers.base import Chunk

ANY, NONE = -2, -1  # of an item: any chunk may cover it; its own passage is no chunk of the run

Integers = NDArray[np.int64]


class ChunkSpans:
    """The spans of a run's chunks by number, of those in a document that has a judgment.

    Chunks whose ids are `prescribed` are passages of the collection; `by_document` has the numbers
    of the chunks of each document, and `named` those of the chunks that items are called as.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        prescribed: Set[str],
        by_document: Mapping[str, Set[int]],
        named: Mapping[str, int],
    ) -> None:
        self._named = named
        self._codes = {document: code for code, document in enumerate(by_document)}
        self._documents = np.full(len(chunks), -1)
        self._spans = np.zeros((2, len(chunks)), np.int64)
        self._prescribed = np.zeros(len(chunks), bool)
        for document, numbers in by_document.items():
            for number in numbers:
                chunk = chunks[number]
                self._documents[number] = self._codes[document]
                self._spans[:, number] = chunk.start, chunk.end
                self._prescribed[number] = chunk.id in prescribed

    def find_covered(
        self,
        numbers: NDArray[np.int32],
        rows: Integers,
        items: Sequence[GoldItem],
        rows_of_items: Integers,
    ) -> tuple[Integers, Integers]:
        """Return the places of the hits and the items of all pairs, by hit and then by item.

        Hit i is the chunk `numbers[i]` for the query `rows[i]`; the items have rows, too.
        """
        documents = self._documents[numbers]
        near = np.flatnonzero(documents >= 0)
        codes = np.array([self._codes.get(item.doc_id, -1) for item in items], np.int64)
        judged = np.flatnonzero(codes >= 0)
        keys = rows_of_items[judged] * len(self._codes) + codes[judged]
        order = np.argsort(keys, kind="stable")
        wanted = rows[near] * len(self._codes) + documents[near]
        begins, ends = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
        counts = ends - begins
        hits = np.repeat(near, counts)
        first = np.cumsum(counts) - counts
        places = np.arange(len(hits)) + np.repeat(begins - first, counts)
        found = judged[order][places]
        covers = self._covers(numbers[hits], items, found)
        return hits[covers], found[covers]

    def _covers(
        self, numbers: NDArray[np.int32], items: Sequence[GoldItem], found: Integers
    ) -> NDArray[np.bool_]:
        """Return a mask of the pairs of chunk `numbers[i]` and item `items[found[i]]`."""
        spans = np.array([(item.start, item.end) for item in items], np.int64).reshape(-1, 2).T
        passages = np.array(
            [self._named.get(i.passage_id, NONE) if i.passage_id else ANY for i in items], np.int64
        )
        (start, end), (begin, stop) = self._spans[:, numbers], spans[:, found]
        shared = np.minimum(end, stop) - np.maximum(start, begin)
        covers = (shared > 0) & (2 * shared >= np.minimum(end - start, stop - begin))
        own = self._prescribed[numbers] & (passages[found] != ANY)
        touching = (begin <= end) & (start <= stop)
        found_itself = touching & (passages[found] == numbers)
        mask: NDArray[np.bool_] = np.where(own, found_itself, covers)
        return mask
