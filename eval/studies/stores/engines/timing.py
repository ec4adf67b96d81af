"""Latency of an engine's searches, timed interleaved in one process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.eval.runs.execution.interleaved_timing import alternate
from assay.eval.statistics.estimates import (
    Estimate,
    OpenEstimate,
    estimate_percentile,
    estimate_percentile_ratio,
)
from assay.eval.studies.stores.parity.quality import DENSE, KEYWORD, NATIVE, OURS, TIMED
from assay.retrievers.base import Progress, T

PERCENTILES = (50, 95)
WARM_UP = 5

# {"p50": …, "p95": …} in milliseconds.
Percentiles = Mapping[str, OpenEstimate]


@dataclass(frozen=True)
class TimingTable:
    """Percentiles by system, and those of native over ours, paired by query."""

    systems: Mapping[str, Percentiles]
    ratios: Mapping[str, Estimate]


def time_systems(
    systems: Mapping[str, Callable[[T], float]],
    queries: Sequence[T],
    seconds: float,
    progress: Progress,
) -> TimingTable:
    """Time `systems`, each of which takes a query and gives its milliseconds.

    The two that are compared take turns with each other, and the two lists with each other.
    """
    taken: dict[str, list[float]] = {}
    for pair in ((NATIVE, OURS), (DENSE, KEYWORD)):
        chosen = {name: systems[name] for name in pair}
        taken |= time_interleaved(chosen, queries, seconds, progress)
    return TimingTable(
        systems={name: find_percentiles(taken[name]) for name in TIMED},
        ratios={
            f"p{percent}": estimate_percentile_ratio(taken[OURS], taken[NATIVE], percent)
            for percent in PERCENTILES
        },
    )


def time_interleaved(
    systems: Mapping[str, Callable[[T], float]],
    queries: Sequence[T],
    seconds: float,
    progress: Progress,
) -> dict[str, list[float]]:
    """Return the milliseconds of each system, paired by query, after a warm-up."""
    for query in queries[:WARM_UP]:
        for system in systems.values():
            system(query)
    taken = alternate(list(systems.values()), queries, seconds, progress)
    return dict(zip(systems, taken, strict=True))


def find_percentiles(times: Sequence[float]) -> Percentiles:
    """Return p50 and p95 with their intervals."""
    return {f"p{percent}": estimate_percentile(times, percent) for percent in PERCENTILES}
