"""Stores side by side: quality, what approximate search misses, speed under load, and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.changes import ChangesResult
from assay.eval.studies.stores.engines.timing import Percentiles
from assay.eval.studies.stores.parity.results import IndexCost

MEASURE = "nDCG@10"
CALLERS = (1, 8)


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a search while `callers` ask at once, and queries answered in a second."""

    callers: int
    latency: Percentiles
    throughput: float


@dataclass(frozen=True)
class SearchMeasurement:
    """One search of an engine: its quality by MEASURE, its speed by callers, waits that it shows.

    `recall` is that of the dense list against exact search; None of others. A search that is too
    slow is not judged (`quality` None), or has no speed with several callers.
    """

    search: str
    quality: Estimate | None
    recall: Estimate | None
    speeds: tuple[Speed, ...]
    delays: tuple[str, ...]


@dataclass(frozen=True)
class StoreResult:
    """One engine: its version, what indexing cost, its searches.

    `identity` is a digest of all that this depends on. `memory` is what its server holds in bytes,
    of all that it stores; None where it is not told. `changes` is None of a store whose rows nobody
    wrote how to change. `lacking` says by its name why a search or a part of it is not here. `load`
    is how many processes ran or waited to, on average in the last quarter of an hour.
    """

    engine: str
    identity: str
    version: str
    exact: bool
    index: IndexCost
    memory: int | None
    searches: tuple[SearchMeasurement, ...]
    changes: ChangesResult | None
    lacking: Mapping[str, str]
    created: str
    environment: Mapping[str, Any]
    load: float | None


@dataclass(frozen=True)
class DistractorFacts:
    """How many distractors there are, and what those have shown that were embedded for real.

    `likeness` is the mean cosine of their vectors to the middle between both passages, `near` their
    mean cosine to a query, and `near_drawn` that of the vectors drawn in their place.
    """

    count: int
    likeness: Estimate
    near: float
    near_drawn: float


@dataclass(frozen=True)
class Benchmark:
    """Engines on the queries of one collection, of which `queries` are judged and `timed` timed.

    `identity` is a digest of the passages, vectors and queries. Among the passages are
    `distractors`, where there are any. `absent` are the engines that failed, with the reason.
    """

    collection: str
    identity: str
    queries: int
    timed: int
    passages: int
    distractors: DistractorFacts | None
    encoder: str
    stores: tuple[StoreResult, ...]
    absent: Mapping[str, str]
    command: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {"measure": MEASURE, **asdict(self)}
