"""Counting the characters that retrieved chunks and gold items share.

Chunkers cut text at different places, and measures of whole items do not tell how much else a chunk
holds. Recall, precision and intersection over union are those of Smith and Troynikov, "Evaluating
chunking strategies for retrieval" (Chroma, 2024), whose code counts characters: text that two
chunks repeat is found once and returned twice.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.join import JoinedHit

Span = tuple[int, int]


class Characters(NamedTuple):
    """Characters that a ranking returns, those that are relevant, and those that are both."""

    returned: int
    relevant: int
    shared: int


def count_characters(ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> Characters:
    """Return the counts of a query's ranking, given its gold items."""
    wanted: dict[str, list[Span]] = defaultdict(list)
    for item in gold:
        if item.grade > 0:
            wanted[item.doc_id].append((item.start, item.end))
    chunks: dict[str, list[Span]] = defaultdict(list)
    for hit in ranking:
        chunks[hit.chunk.doc_id].append((hit.chunk.start, hit.chunk.end))
    relevant = {document: merge(spans) for document, spans in wanted.items()}
    return Characters(
        returned=sum(map(_add_up, chunks.values())),
        relevant=sum(map(_add_up, relevant.values())),
        shared=sum(
            max(0, min(end, last) - max(start, first))
            for document, spans in relevant.items()
            for start, end in spans
            for first, last in merge(chunks[document])
        ),
    )


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return spans that cover the same characters, in order and without overlaps."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _add_up(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
