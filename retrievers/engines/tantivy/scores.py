"""Tantivy's BM25 as its sources state it, computed here."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

from assay.retrievers.fusion.ranking import Scored, ordered

K1, B = 1.2, 0.75


def _decode_length(code: int) -> int:
    """Return the length that a byte stands for, as Lucene's SmallFloat.byte4ToInt does."""
    exact = 24
    if code < exact:
        return code
    bits, shift = (code - exact) & 7, ((code - exact) >> 3) - 1
    return exact + (bits if shift < 0 else (bits | 8) << shift)


LENGTHS = [_decode_length(code) for code in range(256)]


class Bm25:
    """Scores texts given as terms; the mean length is of whole lengths, each text's is rounded."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = len(texts)
        self._mean = sum(map(len, texts)) / len(texts) if texts else 0.0
        self._lengths = [LENGTHS[bisect_right(LENGTHS, len(text)) - 1] for text in texts]
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        for position, text in enumerate(texts):
            for term, count in Counter(text).items():
                self._counts[term][position] = count

    def score(self, terms: Sequence[str]) -> list[Scored]:
        """Return all texts that share a term, best first; a repeated term weighs as often."""
        scores: dict[int, float] = defaultdict(float)
        for term, weight in Counter(terms).items():
            found = self._counts.get(term, {})
            idf = log(1 + (self._texts - len(found) + 0.5) / (len(found) + 0.5))
            for position, count in found.items():
                length = 1 - B + B * self._lengths[position] / self._mean
                scores[position] += weight * idf * (1 + K1) * count / (count + K1 * length)
        return ordered(scores.items())
