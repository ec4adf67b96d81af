"""What the benchmark reports, as values and as tables."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import OpenEstimate, estimate_percentile
from assay.retrievers.base import Document, Ranking, Retriever

DEPTH = 100

Terms = Sequence[str]


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that answers queries over passages it has indexed.

    `search` returns the best 100 passages for a query, in a form of its own; it is what is timed.
    `embeds` says whether part of that is the embedding of the query. `index_seconds` leaves out
    the embedding of passages; `index_bytes` is None for an index of Python objects.
    """

    name: str
    search: Callable[[str], Any]
    embeds: bool
    index_seconds: float
    index_bytes: int | None


def make_pipeline(name: str, retriever: Retriever, documents: Sequence[Document]) -> Contender:
    """Return a pipeline as it ships, with every per-query cache off."""
    report = retriever.index(documents)
    timed = retriever.without_query_cache()
    embeddings = [taken for step, taken in report.seconds.items() if step.endswith(".embed")]
    return Contender(
        name=name,
        search=lambda query: timed.search(query, DEPTH),
        embeds=bool(embeddings),
        index_seconds=sum(report.seconds.values()) - sum(embeddings),
        index_bytes=report.bytes,
    )


def embedding_milliseconds(answer: Any) -> float:
    """Return the part of a search that went into embedding the query; 0 for a library's answer."""
    if not isinstance(answer, Ranking):
        return 0.0
    return sum(step.milliseconds for step in answer.trace if step.name.endswith(".encode"))


def make_bm25s(passages: Sequence[Terms], queries: Mapping[str, Terms]) -> Contender:
    """Return bm25s with its defaults; `queries` gives the terms of each query."""
    import bm25s

    begin = time.perf_counter()
    library = bm25s.BM25()
    library.index(passages, show_progress=False)
    seconds = time.perf_counter() - begin
    depth = min(DEPTH, len(passages))
    return Contender(
        name="bm25s, called directly",
        search=lambda query: library.retrieve([queries[query]], k=depth, show_progress=False),
        embeds=False,
        index_seconds=seconds,
        index_bytes=sum(library.scores[part].nbytes for part in ("data", "indices", "indptr")),
    )


def make_rank_bm25(passages: Sequence[Terms], queries: Mapping[str, Terms]) -> Contender:
    """Return rank-bm25's BM25Okapi with its defaults; `queries` gives the terms of each query."""
    from rank_bm25 import BM25Okapi

    begin = time.perf_counter()
    library = BM25Okapi(passages)
    seconds = time.perf_counter() - begin
    positions = range(len(passages))
    return Contender(
        name="rank-bm25, called directly",
        search=lambda query: library.get_top_n(queries[query], positions, n=DEPTH),
        embeds=False,
        index_seconds=seconds,
        index_bytes=None,
    )


WANTED_CHUNKS = 10_000
WANTED_P95 = {"bm25": 5.0, "semantic": 10.0, "hybrid_rrf": 15.0, "native_hybrid": 15.0}


@dataclass(frozen=True, slots=True)
class Samples:
    """Milliseconds of each query: in all, and those spent on embedding it."""

    total: list[float]
    embedding: list[float]

    def add(self, total: float, embedding: float) -> None:
        """Keep one query's times."""
        self.total.append(total)
        self.embedding.append(embedding)


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles over queries, in milliseconds."""

    p50: OpenEstimate
    p95: OpenEstimate


@dataclass(frozen=True, slots=True)
class Row:
    """One contender at one size.

    `embedding` and `rest`, which is the total without it, are None where nothing is embedded;
    `wanted_p95_ms` and `verdict` (met or missed) where nothing is wanted. `index_seconds` leaves
    out the embedding of passages.
    """

    name: str
    total: Times
    embedding: Times | None
    rest: Times | None
    index_seconds: float
    index_bytes: int | None
    wanted_p95_ms: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Size:
    """All contenders at one number of chunks."""

    chunks: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The figures, and what a reader needs to judge them.

    `core` is the number of the only core used, None where the system cannot keep a process on
    one. `embedding_rates` are passages a second by model; `sources` the real passages by
    collection, and `absent` a line for each collection that is not here.
    """

    sizes: tuple[Size, ...]
    queries: int
    core: int | None
    embedding_rates: dict[str, float]
    sources: dict[str, int]
    absent: tuple[str, ...]
    environment: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


def make_row(contender: Contender, samples: Samples, chunks: int) -> Row:
    """Return the figures of one contender."""
    total = make_times(samples.total)
    embedding = rest = None
    if contender.embeds:
        embedding = make_times(samples.embedding)
        pairs = zip(samples.total, samples.embedding, strict=True)
        rest = make_times([whole - part for whole, part in pairs])
    wanted = WANTED_P95.get(contender.name) if chunks == WANTED_CHUNKS else None
    return Row(
        name=contender.name,
        total=total,
        embedding=embedding,
        rest=rest,
        index_seconds=contender.index_seconds,
        index_bytes=contender.index_bytes,
        wanted_p95_ms=wanted,
        verdict=None if wanted is None else "met" if total.p95.value < wanted else "missed",
    )


def make_times(milliseconds: Sequence[float]) -> Times:
    """Return the percentiles of a sample."""
    return Times(estimate_percentile(milliseconds, 50), estimate_percentile(milliseconds, 95))
