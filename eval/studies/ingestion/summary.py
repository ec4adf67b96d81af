"""The facts of an ingestion, and the figures computed from them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from assay.eval.runs.token_counts import RANGES, Bin, TokenCounts
from assay.retrievers.base.ingestion import DocumentReport, IngestReport

WORDS_PER_PAGE = 500
ON_TARGET = (800, 1500)


def count_on_target(sizes: Iterable[int]) -> int:
    """Return the number of `sizes` from 800 to 1,500 tokens."""
    low, high = ON_TARGET
    return sum(low <= size <= high for size in sizes)


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

    def figures(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        single = self.per_document
        return {
            "documents": len(self.documents),
            "fresh_documents": self.fresh,
            "cache_hit_rate": self.cache_hit_rate,
            "vocabulary": self.vocabulary,
            "embedded": self.count("embedded"),
            "skipped": len(self.skipped),
            "words": self.words,
            "pages": round(self.pages, 2),
            "chunks": len(self.tokens.sizes),
            "combined": self.count("combined"),
            "split": self.count("split"),
            "on_target": self.on_target,
            "tokens": {
                "total": sum(self.tokens.sizes),
                "average": sum(self.tokens.sizes) / max(len(self.tokens.sizes), 1),
                "min": min(self.tokens.sizes, default=0),
                **self.tokens.percentiles(),
                "max": self.tokens.largest,
            },
            "ranges": {item.label: item.chunks for item in self.tokens.ranges()},
            "oversize": self.count("oversize"),
            "unread": self.count("unread"),
            "near_empty": len(self.near_empty),
            "integrity_failures": len(self.failures),
            "collisions": self.collisions,
            "decisions": self.decisions(),
            "definitions": self.count("definitions"),
            "references": {"found": self.count("references"), "resolved": self.count("resolved")},
            "seconds": dict(self.seconds),
            "seconds_per_document": {"n": single.n, "p50": single.p50, "p95": single.p95},
            "seconds_per_100_pages": {
                "with_embedding": self.seconds_per_100_pages(),
                "without_embedding": self.seconds_per_100_pages(embedding=False),
            },
        }

    def as_json(self) -> dict[str, Any]:
        """Return all facts and figures as JSON values."""
        return {
            "id": self.id,
            "created": self.created,
            "source": self.source,
            "pipeline": self.pipeline,
            "figures": self.figures(),
            "limit": self.limit,
            "window": self.window,
            "bytes": self.bytes,
            "skipped": [asdict(item) for item in self.skipped],
            "documents": [
                {**asdict(item), "average": item.average, "least": item.least}
                for item in self.documents
            ],
            "histogram": [asdict(item) for item in self.tokens.histogram()],
            "config": dict(self.config),
            "facts": dict(self.facts),
            "environment": dict(self.environment),
        }

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
