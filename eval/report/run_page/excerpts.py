"""Excerpts of the passages that a run retrieved, and of the gold they cover."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from assay.eval.collections.collection import GoldItem
from assay.eval.report import formats
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.retrievers.base import Chunk

ALL_TEXT = 3_000_000  # characters of passages on one page
LONGEST, SHORTEST = 700, 200  # an excerpt
LONGEST_CONTEXT = 300
QUOTE = 400
LEAD = 80  # characters shown before gold that starts late in a passage


class PassageTable:
    """The passages that a page shows, each once; `count` is the most there will be."""

    def __init__(self, count: int) -> None:
        self.excerpt = min(max(ALL_TEXT // max(count, 1), SHORTEST), LONGEST)
        self.passages: list[dict[str, Any]] = []
        self._places: dict[Chunk, int] = {}

    def place(self, chunk: Chunk) -> int:
        """Return the place of a chunk among the passages; add it if it is missing."""
        place = self._places.setdefault(chunk, len(self.passages))
        if place == len(self.passages):
            self.passages.append(_describe(chunk, self.excerpt))
        return place


class GoldExcerpts:
    """The chunks that cover gold in a run, and the table of the passages that a page shows."""

    def __init__(self, run: StoredRun, table: PassageTable) -> None:
        self.table = table
        self.times = {item.query_id: item.milliseconds for item in reversed(run.latency)}
        self._run = run

    def list_covered(self, chunk: Chunk, items: Sequence[GoldItem]) -> list[GoldItem]:
        """Return those of the gold items that `chunk` covers."""
        retrieved = self._retrieve(chunk)
        return [item for item in items if item.doc_id == chunk.doc_id and covers(retrieved, item)]

    def _retrieve(self, chunk: Chunk) -> RetrievedChunk:
        return RetrievedChunk(chunk, chunk.id in self._run.prescribed)

    def list_covering(self, items: Sequence[GoldItem]) -> list[set[str]]:
        """Return for each gold item the ids of the run's chunks that cover it."""
        chunks, of_document = self._run.lists.chunks, self._run.by_document
        return [
            {
                chunks[number].id
                for number in of_document.get(item.doc_id, ())
                if covers(self._retrieve(chunks[number]), item)
            }
            for item in items
        ]

    def quote(self, item: GoldItem) -> str:
        """Return the beginning of a gold item."""
        text = self._run.gold_texts[item.id]
        return _with_ellipses(text[:QUOTE], False, len(text) > QUOTE)


def list_pieces(chunk: Chunk, covered: Sequence[GoldItem], limit: int) -> list[str]:
    """Return at most `limit` characters of `chunk` in pieces: plain, gold, plain, gold, …, plain.

    They show the beginning of the gold. Offsets are resolved here because browsers count
    characters in another unit.
    """
    spans = _merge([(item.start - chunk.start, item.end - chunk.start) for item in covered])
    length = len(chunk.text)
    first = max(spans[0][0], 0)
    begin = 0 if first + LEAD < limit else first - LEAD
    begin = max(min(begin, length - limit), 0)
    end = min(begin + limit, length)
    edges = [min(max(edge, begin), end) for span in spans for edge in span]
    pieces = [chunk.text[low:high] for low, high in pairwise([begin, *edges, end])]
    pieces[0] = _with_ellipses(pieces[0].lstrip("\n"), begin > 0, False)
    pieces[-1] = _with_ellipses(pieces[-1].rstrip("\n"), False, end < length)
    return pieces


def _describe(chunk: Chunk, limit: int) -> dict[str, Any]:
    parts = {
        "document": chunk.doc_id,
        "chunk": chunk.id,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "context": formats.shorten(chunk.context, LONGEST_CONTEXT),
        "text": _with_ellipses(chunk.text[:limit].strip("\n"), False, len(chunk.text) > limit),
    }
    return {name: part for name, part in parts.items() if part}


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return `spans` in order, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _with_ellipses(text: str, before: bool, after: bool) -> str:
    return f"{'… ' if before else ''}{text}{' …' if after else ''}"
