"""Rows in FAISS: a flat index by ids; labels are kept here, for it has none."""

from collections.abc import Collection, Sequence
from threading import Lock

import numpy as np

from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors


class FaissRows(LiveRows):
    """An index that one thread may use at a time: its own documents allow no writer beside readers.

    A filter is a bitmap of the ids that may be found.
    """

    def __init__(self, dimensions: int) -> None:
        import faiss

        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimensions))
        self._labels = np.zeros(0, np.int64)  # by id, as a number of `_numbers`
        self._numbers: dict[str, int] = {}
        self._lock = Lock()

    def put(self, ids: Sequence[int], vectors: Vectors, labels: Sequence[str]) -> None:
        """Add rows, after those that have the same ids are removed."""
        chosen = np.asarray(ids, np.int64)
        with self._lock:
            if (missing := int(chosen.max(initial=-1)) + 1 - len(self._labels)) > 0:
                self._labels = np.pad(self._labels, (0, max(missing, len(self._labels))))
            self._index.remove_ids(chosen)
            self._index.add_with_ids(vectors, chosen)
            self._labels[chosen] = [
                self._numbers.setdefault(label, len(self._numbers)) for label in labels
            ]

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows."""
        chosen = np.asarray(ids, np.int64)
        with self._lock:
            self._index.remove_ids(chosen)

    def search(self, vector: Vectors, limit: int, labels: Collection[str] = ()) -> list[Scored]:
        """Return the nearest rows with any of `labels`."""
        import faiss

        with self._lock:
            params = None
            if labels:
                numbers = [self._numbers[label] for label in labels if label in self._numbers]
                allowed = np.isin(self._labels, numbers)
                selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
                params = faiss.SearchParameters(sel=selector)
            most = min(limit, self._index.ntotal)
            if not most:
                return []
            scores, found = self._index.search(vector[None], most, params=params)
        pairs = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        return ordered(pair for pair in pairs if pair[0] >= 0)  # -1 fills what was not found

    def close(self) -> None:
        """Empty the index."""
        self._index.reset()
