"""The facts of an ingestion, and the figures computed from them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import methodcaller
from typing import Any

import numpy as np

from assay.eval.runs.json_form import KeyPath, by, in_json, length, shape
from assay.eval.runs.token_counts import RANGES, Bin, TokenCounts
from assay.retrievers.base.ingestion import DocumentReport, IngestReport

WORDS_PER_PAGE = 500
ON_TARGET = (800, 1500)


def count_on_target(sizes: Iterable[int]) -> int:
    """Return the number of `sizes` from 800 to 1,500 tokens."""
    low, high = ON_TARGET
    return sum(low <= size <= high for size in sizes)


@in_json(..., "average", "least")
@dataclass(frozen=True, slots=True)
class DocumentFacts(DocumentReport):
    """The facts on one document and its file. `seconds` includes the stage convert.

    Attributes:
        format: The suffix of its file, in capitals.
        bytes: The size of its file; 0 if it came with a collection.
        encoding: The encoding of its text; "" if it was converted.
        words: The number of words in its text.

    """

    format: str
    bytes: int
    encoding: str
    words: int

    @property
    def average(self) -> float:
        """The mean of the tokens of a chunk; 0 without chunks."""
        return sum(self.tokens) / len(self.tokens) if self.tokens else 0.0

    @property
    def on_target(self) -> int:
        """The number of chunks of 800 to 1,500 tokens."""
        return count_on_target(self.tokens)

    @property
    def long_parts(self) -> tuple[tuple[int, ...], ...]:
        """The parts with enough text for a chunk of 800 tokens."""
        return tuple(sizes for sizes in self.parts if sum(sizes) >= ON_TARGET[0])

    @property
    def least(self) -> int:
        """The tokens of the smallest chunk; 0 without chunks."""
        return min(self.tokens, default=0)

    @property
    def converted(self) -> bool:
        """True if its text was converted from its file."""
        return bool(self.bytes) and not self.encoding


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file without a document, and the reason; `kind` is broken, blank or other (format)."""

    path: str
    reason: str
    kind: str


@dataclass(frozen=True, slots=True)
class StageTime:
    """Seconds of one stage: in all, and p50 and p95 over the `n` documents it worked on."""

    name: str
    seconds: float
    n: int
    p50: float | None
    p95: float | None
    cached: bool


@in_json(..., "figures", but=("seconds", "cached", "collisions"), histogram="tokens.histogram")
@dataclass(frozen=True)
class Ingestion(IngestReport):
    """One ingestion: the facts on the documents, their source, the pipeline and the machine."""

    documents: Sequence[DocumentFacts]
    id: str
    created: str
    source: str
    pipeline: str
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    skipped: Sequence[SkippedFile]

    @cached_property
    def tokens(self) -> TokenCounts:
        """The tokens of every chunk."""
        return TokenCounts.of(size for item in self.documents for size in item.tokens)

    @property
    def words(self) -> int:
        """The words of all documents."""
        return sum(item.words for item in self.documents)

    @property
    def pages(self) -> float:
        """The size of all documents in pages."""
        return self.words / WORDS_PER_PAGE

    @property
    def failures(self) -> list[str]:
        """The ids of the documents that cannot be rebuilt from their chunks."""
        return [item.id for item in self.documents if item.intact is False]

    @property
    def near_empty(self) -> list[tuple[str, str]]:
        """The near-empty chunks: the document's id and the shortened text of each."""
        return [(item.id, text) for item in self.documents for text in item.near_empty]

    @property
    def notes(self) -> dict[str, str]:
        """The reason why text that looks like frontmatter is text, by document id."""
        return {item.id: item.note for item in self.documents if item.note}

    @property
    def fresh(self) -> int:
        """The number of documents that were processed, not taken from the cache."""
        return sum(bool(item.seconds) for item in self.documents)

    @property
    def cache_hit_rate(self) -> float:
        """The share of the documents that were taken from the cache; 0 without documents."""
        return 1 - self.fresh / len(self.documents) if self.documents else 0.0

    @property
    def vocabulary(self) -> int | None:
        """The number of terms that queries are expanded with; None if they are not expanded."""
        steps = self.facts.get("query", ())
        return next((step["vocabulary"] for step in steps if "vocabulary" in step), None)

    def part_rows(self) -> list[tuple[str, int, int, int, int]]:
        """Return a row for each range of tokens: label, parts, tokens, chunks, chunks on target.

        Parts lie between headings that no chunk crosses. The list is empty without parts.
        """
        parts = [sizes for item in self.documents for sizes in item.parts if sizes]
        rows = []
        for low, high in RANGES if parts else ():
            within = [sizes for sizes in parts if low <= sum(sizes) and sum(sizes) < (high or inf)]
            chunks = [size for sizes in within for size in sizes]
            label = Bin(low, high, 0).label
            rows.append((label, len(within), sum(chunks), len(chunks), count_on_target(chunks)))
        return rows

    @property
    def complete(self) -> bool:
        """True if nothing came from the cache, so that the times are those of all documents."""
        return not self.cached and all(map(self._went_through, self.documents))

    @property
    def stages(self) -> tuple[StageTime, ...]:
        """The time of each stage, in the order they ran."""
        return tuple(self._time(name, taken) for name, taken in self.seconds.items())

    @property
    def per_document(self) -> StageTime:
        """The time of a document in all stages that process documents one by one."""
        done = [item for item in self.documents if item.seconds and self._went_through(item)]
        times = [sum(item.seconds.values()) for item in done]
        return _stage_time("a document", sum(times), times, cached=False)

    def seconds_per_100_pages(self, embedding: bool = True) -> float | None:
        """Return the wall time per 100 pages without contexts; None if part came from the cache."""
        if not self.complete or not self.words:
            return None
        left_out = {"context"} if embedding else {"context", "embed"}
        total = sum(taken for name, taken in self.seconds.items() if name not in left_out)
        return 100 * total / self.pages

    @property
    def seconds_without_embedding(self) -> float | None:
        """The same without the time of embedding."""
        return self.seconds_per_100_pages(embedding=False)

    def count(self, name: str) -> int:
        """Return the sum over the documents of one of their counts, such as `oversize`."""
        return sum(getattr(item, name) for item in self.documents)

    @property
    def long_documents(self) -> list[DocumentFacts]:
        """The documents with enough text for a chunk of 800 tokens."""
        return [item for item in self.documents if sum(item.tokens) >= ON_TARGET[0]]

    @property
    def on_target(self) -> float | None:
        """The share of the chunks of long documents of 800 to 1,500 tokens; None without chunks."""
        chunks = sum(len(item.tokens) for item in self.long_documents)
        return sum(item.on_target for item in self.long_documents) / chunks if chunks else None

    def decisions(self) -> dict[str, int]:
        """Return the count of each decision of the combiner; empty for other chunkers."""
        total: Counter[str] = Counter()
        for item in self.documents:
            total.update(item.decisions)
        return dict(sorted(total.items()))

    @property
    def figures(self) -> "IngestFigures":
        """The figures, as they are shown and logged."""
        return IngestFigures(self)

    @cached_property
    def _embeds(self) -> bool:
        return any(
            "embed" in taken for taken in (self.seconds, *(d.seconds for d in self.documents))
        )

    def _went_through(self, item: DocumentFacts) -> bool:
        """Return True if no stage took its result for the document from the cache."""
        stages = {
            "convert": item.converted,
            "chunk": item.intact is not None,
            "embed": self._embeds and bool(item.tokens),
        }
        return {name for name, needed in stages.items() if needed} <= item.seconds.keys()

    def _time(self, name: str, taken: float) -> StageTime:
        times = [item.seconds[name] for item in self.documents if name in item.seconds]
        return _stage_time(name, taken, times, name in self.cached)


def _stage_time(name: str, taken: float, times: Sequence[float], cached: bool) -> StageTime:
    if not times:
        return StageTime(name, taken, 0, None, None, cached)
    p50, p95 = (float(np.percentile(times, i)) for i in (50, 95))
    return StageTime(name, taken, len(times), p50, p95, cached)


def _total(name: str) -> KeyPath:
    """Return the path of the sum over the documents of one of their counts."""
    return KeyPath("found", methodcaller("count", name), lambda _: int)


def _round_pages(pages: float) -> float:
    return round(pages, 2)


def _show_ranges(ranges: tuple[Bin, ...]) -> dict[str, int]:
    return {item.label: item.chunks for item in ranges}


@in_json(
    documents=length("found.documents"),
    fresh_documents="found.fresh",
    cache_hit_rate="found.cache_hit_rate",
    vocabulary="found.vocabulary",
    embedded=_total("embedded"),
    skipped=length("found.skipped"),
    words="found.words",
    pages=by(_round_pages, "found.pages"),
    chunks=length("found.tokens.sizes"),
    combined=_total("combined"),
    split=_total("split"),
    on_target="found.on_target",
    tokens="found.tokens.figures",
    ranges=by(_show_ranges, "found.tokens.ranges"),
    oversize=_total("oversize"),
    unread=_total("unread"),
    near_empty=length("found.near_empty"),
    integrity_failures=length("found.failures"),
    collisions="found.collisions",
    decisions="found.decisions",
    definitions=_total("definitions"),
    references=shape("", found=_total("references"), resolved=_total("resolved")),
    seconds="found.seconds",
    seconds_per_document=shape("found.per_document", "n", "p50", "p95"),
    seconds_per_100_pages=shape(
        "found",
        with_embedding="seconds_per_100_pages",
        without_embedding="seconds_without_embedding",
    ),
)
@dataclass(frozen=True)
class IngestFigures:
    """The figures of an ingestion."""

    found: Ingestion
