"""Latencies of two runs side by side."""

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

    There is a ratio only where the two were timed interleaved, in one job (`together`), and the
    queries are enough for one. Runs that were timed apart met other loads on the machine: what sets
    their times apart may be that alone.
    """

    percentile: int
    base: float
    other: float
    ratio: Estimate | None
    together: bool


def pair_latencies(
    base: StoredRun, other: StoredRun, timing: InterleavedTiming | None
) -> tuple[LatencyPair, ...]:
    """Return the percentiles of the total, of one job where both were timed in it."""
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
