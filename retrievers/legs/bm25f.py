"""BM25F: BM25 over passages of several fields, each with its own weight and length.

With tf_f the occurrences of a term in field f of a passage, which has dl_f terms there, avgdl_f
the mean of dl_f over the passages that have the field, w_f its weight, and df the passages out of
N that hold the term in any field, each occurrence of a term in the query adds

    tf = sum over f of w_f * tf_f / (1 - b + b * dl_f / avgdl_f)
    okapi:   idf * tf * (k1 + 1) / (tf + k1)
    lucene:  idf * tf / (tf + k1)

with the idf that `bm25` gives for either. Weighing before saturating is due to Robertson, Zaragoza
and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004; a length of its own for
each field to Zaragoza et al., "Microsoft Cambridge at TREC-13", TREC 2004. A single field of
weight 1 gives BM25.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.legs.bm25 import Formula, TermTable, lucene_idf, okapi_idf

ARRAYS = ("data", "indices", "indptr")


@dataclass(frozen=True, slots=True)
class FieldTerms:
    """One field: the terms of each passage in it, None for a passage that lacks the field."""

    weight: float
    passages: Sequence[Sequence[str] | None]


class FieldScorer:
    """The score of each term in each passage, worked out when indexing: a column per term."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula

    def build(self, fields: Sequence[FieldTerms], folder: Path) -> None:
        """Write into `folder` what `load` needs. At least one field must have a term."""
        vocabulary: dict[str, int] = {}
        table = _add_up(fields, self._formula.b, vocabulary)
        frequencies = np.diff(table.indptr)
        k1, passages = self._formula.k1, table.shape[0]
        if self._formula.variant == "okapi":
            idf = okapi_idf(frequencies, passages, self._formula.epsilon) * (k1 + 1)
        else:
            idf = lucene_idf(frequencies, passages)
        table.data *= np.repeat(idf, frequencies) / (table.data + k1)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(table, name))
        (folder / "vocabulary.json").write_text(json.dumps([vocabulary, passages]))

    def load(self, folder: Path) -> None:
        """Map the table into memory."""
        scores, holders, starts = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ARRAYS
        )
        vocabulary, passages = json.loads((folder / "vocabulary.json").read_text())
        self._table = TermTable(vocabulary, starts, holders, scores, passages)

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per passage for the terms of `query`, known or not."""
        return self._table.score(query)


def _add_up(fields: Sequence[FieldTerms], b: float, vocabulary: dict[str, int]) -> Any:
    """Return the tf of each term in each passage as a sparse matrix, and fill `vocabulary`."""
    from scipy.sparse import coo_array

    rows, columns, weights = [], [], []
    for field in fields:
        held = sum(passage is not None for passage in field.passages)
        lengths = np.array([len(passage or ()) for passage in field.passages])
        if not lengths.any():
            continue
        one = np.repeat(np.arange(len(lengths)), lengths)
        rows.append(one)
        columns += [
            vocabulary.setdefault(term, len(vocabulary))
            for passage in field.passages
            for term in passage or ()
        ]
        norms = 1 - b + b * lengths * held / lengths.sum()
        weights.append(field.weight / norms[one])
    shape = (len(fields[0].passages), len(vocabulary))
    return coo_array((np.concatenate(weights), (np.concatenate(rows), columns)), shape).tocsc()
