"""BM25 by a table of all terms' scores, and by rank-bm25, the reference.

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

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.store.arrays import ArrayFile
from assay.retrievers.text.term_counts import ENTRIES, TermCounts

Variant = Literal["okapi", "lucene"]
# What every leg scores by where its config says nothing else: docs/defaults.md has the reasons.
VARIANT: Variant = "lucene"
K1, B = 1.2, 0.6
WEIGHTS = "weights.npy"


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
    def build(self, counts: TermCounts, folder: Path) -> None:
        """Write into `folder` what `load` needs in addition to the counts."""

    @abstractmethod
    def load(self, counts: TermCounts, folder: Path) -> None:
        """Make ready to score from the counts and what `build` wrote."""

    @abstractmethod
    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per passage for the terms of `query`, known or not."""


class RankBm25Scorer(Scorer):
    """rank-bm25's BM25Okapi. It has no index on disk, so its tables are made again at `load`."""

    def build(self, counts: TermCounts, folder: Path) -> None:
        """Keep nothing."""

    def load(self, counts: TermCounts, folder: Path) -> None:
        """Let the library count the terms."""
        from rank_bm25 import BM25Okapi

        formula = self._formula
        self._library = BM25Okapi(
            counts.list_terms(), k1=formula.k1, b=formula.b, epsilon=formula.epsilon
        )

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the library's scores."""
        with np.errstate(invalid="ignore"):  # with b 1 an empty passage comes to 0 / 0
            scores: NDArray[np.float64] = self._library.get_scores(query)
        return np.nan_to_num(scores, nan=0.0)


@dataclass(frozen=True, slots=True)
class TermTable:
    """The scores of terms in `passages` passages: a column per term, of the passages that hold it.

    `vocabulary` has the column of each term, `starts` where each begins in `scores` and `holders`,
    and where the last ends.
    """

    vocabulary: Mapping[str, int]
    starts: NDArray[np.integer]
    holders: NDArray[np.integer]
    scores: NDArray[np.float64]
    passages: int

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per passage, the sum over the terms of `query`, known or not."""
        totals = np.zeros(self.passages)
        for term in query:
            column = self.vocabulary.get(term)
            if column is not None:
                part = slice(self.starts[column], self.starts[column + 1])
                # Twice as fast as to add to a selection, which is read and written apart.
                np.add.at(totals, self.holders[part], self.scores[part])
        return totals


class TableScorer(Scorer):
    """The score of each term in each passage is worked out when indexing.

    That is the method of Lù, "BM25S: Orders of magnitude faster lexical search via eager sparse
    scoring", arXiv:2407.03618. Scores are float64, as rank-bm25's are.
    """

    def build(self, counts: TermCounts, folder: Path) -> None:
        """Write the weights, in the order of the counts."""
        with ArrayFile(folder / WEIGHTS, np.float64, len(counts.counts)) as file:
            for weights in weigh(counts, self._formula):
                file.add(weights)

    def load(self, counts: TermCounts, folder: Path) -> None:
        """Map the weights into memory."""
        # A plain view of the mapped file: numpy is slower on its memmap class.
        weights = np.asarray(np.load(folder / WEIGHTS, mmap_mode="r"))
        self._table = TermTable(
            counts.vocabulary, counts.starts, counts.passages, weights, len(counts.lengths)
        )

    def score(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the sums over the query's terms."""
        return self._table.score(query)


def weigh(
    counts: TermCounts, formula: Formula, entries: int = ENTRIES
) -> Iterator[NDArray[np.float64]]:
    """Yield the score of each term in each passage that holds it, in the order of the counts.

    They come in slices of at most `entries` entries, as `TermCounts.split` makes them.
    """
    frequencies, passages = counts.frequencies, len(counts.lengths)
    if formula.variant == "okapi":
        idf = okapi_idf(frequencies, passages, formula.epsilon) * (formula.k1 + 1)
    else:
        idf = lucene_idf(frequencies, passages)
    norms = formula.k1 * (1 - formula.b + formula.b * counts.lengths / counts.lengths.mean())
    for columns, part in counts.split(entries):
        tf = counts.counts[part].astype(np.float64)
        weights: NDArray[np.float64] = np.repeat(idf[columns], frequencies[columns])
        weights *= tf
        weights /= tf + norms[counts.passages[part]]
        yield weights


def okapi_idf(
    frequencies: NDArray[np.integer], passages: int, epsilon: float
) -> NDArray[np.float64]:
    """Return BM25Okapi's idf of terms, from the number of the `passages` passages holding each."""
    idf: NDArray[np.float64] = np.log(passages - frequencies + 0.5) - np.log(frequencies + 0.5)
    idf[idf < 0] = epsilon * idf.mean()
    return idf


def lucene_idf(frequencies: NDArray[np.integer], passages: int) -> NDArray[np.float64]:
    """Return Lucene's idf of terms, from the number of the `passages` passages holding each."""
    idf: NDArray[np.float64] = np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))
    return idf
