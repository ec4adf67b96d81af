"""What the benchmark reports, as values and as tables."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import OpenEstimate, estimate_percentile
from benchmarks.contenders import Contender

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
