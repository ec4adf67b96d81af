"""Latencies of two runs, in pairs."""

from dataclasses import dataclass

import numpy as np

from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.estimates import Estimate, allows_ratio, estimate_percentile_ratio

PERCENTILES = (50, 95)


@dataclass(frozen=True, slots=True)
class LatencyPair:
    """A percentile of latency in milliseconds, and the ratio other / base with its interval.

    There is a ratio only if the two were timed interleaved, in one job (`together`), and there are
    enough queries. Runs that were timed apart met different loads on the machine, which alone may
    explain the difference in their times.
    """

    percentile: int
    base: float
    other: float
    ratio: Estimate | None
    together: bool


def pair_latencies(
    base: StoredRun, other: StoredRun, timing: InterleavedTiming | None
) -> tuple[LatencyPair, ...]:
    """Return percentiles of the total latency, from one job if both were timed in it."""
    together = timing.milliseconds if timing else {}
    paired = base.manifest.id in together and other.manifest.id in together
    old, new = (
        together[run.manifest.id]
        if paired
        else [sample.milliseconds[TOTAL] for sample in run.latency]
        for run in (base, other)
    )
    if not old or not new:
        return ()
    return tuple(
        LatencyPair(
            percentile=percent,
            base=float(np.percentile(old, percent)),
            other=float(np.percentile(new, percent)),
            ratio=estimate_percentile_ratio(old, new, percent)
            if paired and allows_ratio(len(old), percent)
            else None,
            together=paired,
        )
        for percent in PERCENTILES
    )
