"""The pairs to judge, shown without runs and ranks, in a different order for each judge."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring.labels import find_highest_grade, read_pairs
from assay.eval.collections.authoring.worksheet import Pair, trim
from assay.eval.collections.collection import Collection
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError

GUIDELINES = "GUIDELINES.md"
DEFAULT_GUIDELINES = """Judge the passage by itself, against what the query asks.

0: it does not help to answer the query, even where it is about the same things.
{highest}: it holds the whole answer, and says it clearly.
Grades between: it holds a part of the answer, the more the higher.

Judge what the passage says, not whether you believe it, nor how well it is written."""
NEIGHBOURS = 800  # characters shown before and after a passage


@dataclass(frozen=True)
class Sheet:
    """The pairs of a pool, and the information that a judge needs.

    Attributes:
        title: The title of the collection.
        guidelines: The guidelines to grade by.
        highest: The highest grade; the lowest is 0.
        spans: True if a judge may mark the part of a passage that answers.
        pairs: The pairs.
        texts: The texts of the documents by id.
    """

    title: str
    guidelines: str
    highest: int
    spans: bool
    pairs: tuple[Pair, ...]
    texts: Mapping[str, str]

    @cached_property
    def by_digest(self) -> dict[str, Pair]:
        """The pairs by their digests."""
        return {pair.digest: pair for pair in self.pairs}

    def order(self, judge: str, seed: int) -> list[str]:
        """Return the digests of the pairs in the order in which `judge` sees them.

        Queries and the passages of each query are shuffled, to hide the order of the pool and the
        ranks that it comes from; the passages of one query stay together.
        """
        by_query: dict[str, list[str]] = {}
        for digest, pair in sorted(self.by_digest.items()):
            by_query.setdefault(pair.query_id, []).append(digest)
        chance = random.Random(f"{seed} {judge}")
        queries = list(by_query.values())
        chance.shuffle(queries)
        for digests in queries:
            chance.shuffle(digests)
        return [digest for digests in queries for digest in digests]

    def show(self, pair: Pair) -> dict[str, Any]:
        """Return the values that the page shows of a pair; none of them reveals a run or a rank."""
        text = self.texts[pair.doc_id]
        return {
            "id": pair.digest,
            "query": pair.query,
            "document": pair.doc_id,
            "title": pair.title,
            "before": text[max(pair.start - NEIGHBOURS, 0) : pair.start],
            "text": pair.text,
            "after": text[pair.end : pair.end + NEIGHBOURS],
        }

    def locate(self, pair: Pair, start: int, end: int) -> tuple[int, int] | None:
        """Convert characters `start` to `end` of a passage to characters of its document.

        White space at the ends is left out. Returns None for the whole passage. Raises AssayError
        if spans are not allowed or the span has no words.
        """
        if not self.spans:
            raise AssayError("this collection judges the passages it prescribes, and no spans")
        if not 0 <= start < end <= len(pair.text) or not pair.text[start:end].strip():
            raise AssayError(f"no words stand from {start} to {end} of the passage")
        span = trim(pair.text[start:end], pair.start + start)
        return None if span == (pair.start, pair.end) else span


def make_sheet(rows: list[Row], collection: Collection, highest: int | None) -> Sheet:
    """Return the sheet of a table of `assay pool`; `highest` is by default the collection's.

    Raises AssayError at the first row that does not fit the collection, and if there is no row.
    """
    pairs = read_pairs(rows, collection, Problems(strict=True))
    if not pairs:
        raise AssayError("the table has no pair to judge")
    highest = find_highest_grade(collection) if highest is None else highest
    if highest > 9:
        raise AssayError(f"--highest {highest}: the page has keys for grades up to 9")
    return Sheet(
        title=collection.title,
        guidelines=_read_guidelines(collection.card.folder, highest),
        highest=highest,
        spans=collection.card.judges_spans,
        pairs=tuple(pairs),
        texts=collection.texts,
    )


def _read_guidelines(folder: Path, highest: int) -> str:
    path = folder / GUIDELINES
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return DEFAULT_GUIDELINES.format(highest=highest)
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
