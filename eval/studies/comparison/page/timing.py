"""Latencies of the base and of the other, side by side."""

from dataclasses import dataclass, replace

from assay.eval.report.formats import amount
from assay.eval.report.plots import LogAxis, Tick, staircase
from assay.eval.report.run_page.timing import StageRow, stage_row
from assay.eval.runs.latency import TOTAL, collect_times
from assay.eval.studies.comparison.comparison import Pair
from assay.eval.studies.comparison.latency_pairs import LatencyPair


@dataclass(frozen=True)
class StagePair:
    """A stage in the base and in the other; None where a pipeline has no such stage."""

    name: str
    base: StageRow | None
    other: StageRow | None


@dataclass(frozen=True)
class RatioRow:
    """A percentile of the total of both, and the ratio where both were timed in one job."""

    name: str
    base: str
    other: str
    ratio: str = ""
    interval: str = ""
    n: int = 0


@dataclass(frozen=True)
class PairTiming:
    """Latency by stage on one axis, percentiles, and the shares of queries answered in a time.

    `together` says that the percentiles are of one job, in which both were timed interleaved.
    """

    stages: tuple[StagePair, ...]
    ratios: tuple[RatioRow, ...]
    together: bool
    ticks: tuple[Tick, ...]
    curves: tuple[str, str]
    curve_ticks: tuple[Tick, ...]


def time_pair(pair: Pair) -> PairTiming | None:
    """Return the latencies of a pair; None unless both were timed."""
    base, other = (collect_times(item.run.latency) for item in (pair.base, pair.other))
    if not base or not other:
        return None
    axis = LogAxis.around([taken for times in (*base.values(), *other.values()) for taken in times])
    totals = base[TOTAL], other[TOTAL]
    total_axis = LogAxis.around([taken for times in totals for taken in times])
    return PairTiming(
        stages=tuple(
            StagePair(
                stage,
                stage_row(pair.base, stage, base[stage], axis) if stage in base else None,
                stage_row(pair.other, stage, other[stage], axis) if stage in other else None,
            )
            for stage in dict.fromkeys([*base, *other])
        ),
        ratios=tuple(map(_ratio_row, pair.latency)),
        together=any(item.together for item in pair.latency),
        ticks=axis.ticks,
        curves=(staircase(totals[0], total_axis), staircase(totals[1], total_axis)),
        curve_ticks=total_axis.ticks,
    )


def _ratio_row(item: LatencyPair) -> RatioRow:
    row = RatioRow(f"p{item.percentile}", amount(item.base), amount(item.other))
    if item.ratio is None:
        return row
    interval = f"{amount(item.ratio.low)} – {amount(item.ratio.high)}"
    return replace(row, ratio=amount(item.ratio.value), interval=interval, n=item.ratio.n)
