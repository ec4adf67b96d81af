"""Stores side by side: quality, what approximate search misses, speed under load, and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.parity.changes import ChangesResult
from eval.parity.results import IndexCost
from eval.parity.timing import Percentiles
from eval.statistics.estimates import Estimate

MEASURE = "nDCG@10"
CALLERS = (1, 8)


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a search while `callers` ask at once, and queries answered in a second."""

    callers: int
    latency: Percentiles
    throughput: float


@dataclass(frozen=True)
class SearchResult:
    """One search of an engine: its quality by MEASURE, its speed by callers, waits that it shows.

    `recall` is that of the dense list against exact search; None of others.
    """

    search: str
    quality: Estimate
    recall: Estimate | None
    speeds: tuple[Speed, ...]
    delays: tuple[str, ...]


@dataclass(frozen=True)
class StoreResult:
    """One engine: its version, what indexing cost, its searches.

    `memory` is what its server holds in bytes, of all that it stores; None where it is not told.
    `changes` is None of a store whose rows nobody wrote how to change.
    """

    engine: str
    version: str
    exact: bool
    index: IndexCost
    memory: int | None
    searches: tuple[SearchResult, ...]
    changes: ChangesResult | None


@dataclass(frozen=True)
class Benchmark:
    """Engines on the queries of one collection, of which `queries` are judged and `timed` timed.

    `absent` are the engines that failed, `lacking` the searches that an engine could not do, by its
    name and theirs, each with the reason. `load` is how many processes ran or waited to, on average
    in the last quarter of an hour.
    """

    collection: str
    queries: int
    timed: int
    passages: int
    encoder: str
    stores: tuple[StoreResult, ...]
    absent: Mapping[str, str]
    lacking: Mapping[str, str]
    created: str
    environment: Mapping[str, Any]
    load: float | None
    command: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {"measure": MEASURE, **asdict(self)}
