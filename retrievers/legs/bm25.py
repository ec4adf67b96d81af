"""BM25 by two libraries: rank-bm25, the reference, and bm25s, which is fast.

With tf the occurrences of a term in a passage of dl terms, avgdl the mean of dl, and df the
passages out of N that hold the term, each occurrence of a term in the query adds

    okapi:   idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl))
             idf = ln((N - df + 0.5) / (df + 0.5)); where that is negative, epsilon * mean idf
    lucene:  idf * tf / (tf + k1 * (1 - b + b * dl / avgdl))
             idf = ln(1 + (N - df + 0.5) / (df + 0.5))

okapi is rank-bm25's BM25Okapi (Trotman, Puurula and Burgess, "Improvements to BM25 and Language
Models Examined", ADCS 2014); lucene is the formula of Lucene and of most published figures
(Kamphuis et al., "Which BM25 Do You Mean?", ECIR 2020).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Variant = Literal["okapi", "lucene"]


@dataclass(frozen=True, slots=True)
class Formula:
    """A variant of BM25 and its constants; `epsilon` has a meaning in okapi only."""

    variant: Variant
    k1: float
    b: float
    epsilon: float


class Scorer(ABC):
    """Scores every passage against a query. At least one passage must have a term."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula

    @abstractmethod
    def build(self, passages: Sequence[Sequence[str]], folder: Path) -> None:
        """Write into `folder` what `load` needs to score `passages`, given as lists of terms."""

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Make ready to score from what `build` wrote."""

    @abstractmethod
    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a passage for the terms of `query`, known or not."""


class RankBm25Scorer(Scorer):
    """rank-bm25's BM25Okapi. It has no index on disk, so its tables are made again at `load`."""

    def build(self, passages: Sequence[Sequence[str]], folder: Path) -> None:
        """Keep the terms."""
        (folder / "passages.json").write_text(json.dumps(passages))

    def load(self, folder: Path) -> None:
        """Count the terms."""
        from rank_bm25 import BM25Okapi

        passages = json.loads((folder / "passages.json").read_text())
        formula = self._formula
        self._library = BM25Okapi(passages, k1=formula.k1, b=formula.b, epsilon=formula.epsilon)

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the library's scores."""
        with np.errstate(invalid="ignore"):  # with b 1 an empty passage comes to 0 / 0
            scores: NDArray[np.float64] = self._library.get_scores(query)
        return np.nan_to_num(scores, nan=0.0)


class Bm25sScorer(Scorer):
    """bm25s: the score of each term in each passage is worked out when indexing.

    bm25s has Okapi's term weight (its method `atire`) but not its idf, which therefore replaces
    the library's own in the finished table. Scores are float64, as rank-bm25's are.
    """

    def build(self, passages: Sequence[Sequence[str]], folder: Path) -> None:
        """Write bm25s' table and vocabulary."""
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in one] for one in passages]
        okapi = self._formula.variant == "okapi"
        library = bm25s.BM25(
            k1=self._formula.k1,
            b=self._formula.b,
            method="atire" if okapi else "lucene",
            idf_method="lucene",
            dtype="float64",
        )
        library.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        if okapi:
            _give_okapi_idf(library.scores, self._formula.epsilon)
        library.save(folder, show_progress=False)

    def load(self, folder: Path) -> None:
        """Map the table into memory."""
        import bm25s

        self._library = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        # Plain views of the mapped files: numpy is slower on its memmap class.
        for name in ("data", "indices", "indptr"):
            self._library.scores[name] = np.asarray(self._library.scores[name])

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the sums over the query's terms."""
        ids = self._library.get_tokens_ids(query)
        scores: NDArray[np.float64] = self._library.get_scores_from_ids(ids)
        return scores


def okapi_idf(
    frequencies: NDArray[np.integer], passages: int, epsilon: float
) -> NDArray[np.float64]:
    """Return BM25Okapi's idf of terms that so many of `passages` hold."""
    idf: NDArray[np.float64] = np.log(passages - frequencies + 0.5) - np.log(frequencies + 0.5)
    idf[idf < 0] = epsilon * idf.mean()
    return idf


def lucene_idf(frequencies: NDArray[np.integer], passages: int) -> NDArray[np.float64]:
    """Return Lucene's idf of terms that so many of `passages` hold."""
    idf: NDArray[np.float64] = np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))
    return idf


def _give_okapi_idf(table: dict[str, Any], epsilon: float) -> None:
    """Put BM25Okapi's idf in the place of Lucene's in a table with one column a term."""
    frequencies, passages = np.diff(table["indptr"]), table["num_docs"]
    idf = okapi_idf(frequencies, passages, epsilon)
    table["data"] *= np.repeat(idf / lucene_idf(frequencies, passages), frequencies)
