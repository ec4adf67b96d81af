"""What a store does with rows that change: filters, searches beside a writer, what is seen when."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.timing import Percentiles

# The labels of rows by the share that bears them, and those that are asked for by the share that
# is found.
LABELS: Mapping[str, float] = {"rare": 0.01, "some": 0.09, "most": 0.9}
FILTERS: Mapping[float, tuple[str, ...]] = {0.01: ("rare",), 0.1: ("rare", "some"), 0.9: ("most",)}


@dataclass(frozen=True)
class FilterResult:
    """Searches among a `share` of the rows: recall against exact search there, milliseconds."""

    share: float
    recall: Estimate
    latency: Percentiles


@dataclass(frozen=True)
class Sight:
    """Changes of one kind: seconds until a search saw each, 0 where the next one did.

    None stands for those that none saw within the bound.
    """

    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class ChangesResult:
    """Rows of a store that are put, filtered, searched meanwhile, deleted and put anew.

    `rate` is rows put in a second by one thread, alone; `rate_beside` while another searches.
    `latency` is of searches without a filter while nothing changes, `latency_beside` meanwhile.
    """

    rows: int
    batch: int
    rate: float
    latency: Percentiles
    filters: tuple[FilterResult, ...]
    rate_beside: float
    latency_beside: Percentiles
    deletions: Sight
    updates: Sight
