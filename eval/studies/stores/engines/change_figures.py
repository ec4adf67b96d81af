"""What a store does with rows that change: searches beside a writer, what is seen when."""

from dataclasses import dataclass

from assay.eval.studies.stores.engines.timing import Percentiles


@dataclass(frozen=True)
class Sight:
    """Changes of one kind: seconds until a search saw each, 0 where the next one did.

    None stands for those that none saw within the bound.
    """

    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class ChangesResult:
    """Rows of a store that are put, searched meanwhile, deleted and put anew.

    `rate` is rows put in a second by one thread, alone; `rate_beside` while another searches.
    `latency` is of searches while nothing changes, `latency_beside` meanwhile.
    """

    rows: int
    batch: int
    rate: float
    latency: Percentiles
    rate_beside: float
    latency_beside: Percentiles
    deletions: Sight
    updates: Sight
