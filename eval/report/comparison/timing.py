"""Latencies of the base and of the other, side by side."""

from dataclasses import dataclass

from eval.analysis.comparison import Pair
from eval.report.formats import amount
from eval.report.plots import LogAxis, Tick, staircase
from eval.report.timing import StageRow, collect_times, stage_row
from eval.runs.latency import TOTAL


@dataclass(frozen=True)
class StagePair:
    """A stage in the base and in the other; None where a pipeline has no such stage."""

    name: str
    base: StageRow | None
    other: StageRow | None


@dataclass(frozen=True)
class RatioRow:
    """A percentile of the total of both over the queries that both timed, and the ratio."""

    name: str
    base: str
    other: str
    ratio: str
    interval: str
    n: int


@dataclass(frozen=True)
class PairTiming:
    """Latency by stage on one axis, the ratio, and the shares of queries answered in a time."""

    stages: tuple[StagePair, ...]
    ratios: tuple[RatioRow, ...]
    ticks: tuple[Tick, ...]
    curves: tuple[str, str]
    curve_ticks: tuple[Tick, ...]


def time_pair(pair: Pair) -> PairTiming | None:
    """Return the latencies of a pair; None unless both were timed."""
    base, other = collect_times(pair.base), collect_times(pair.other)
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
        ratios=tuple(
            RatioRow(
                name=f"p{item.percentile}",
                base=amount(item.base),
                other=amount(item.other),
                ratio=amount(item.ratio.value),
                interval=f"{amount(item.ratio.low)} – {amount(item.ratio.high)}",
                n=item.ratio.n,
            )
            for item in pair.latency
        ),
        ticks=axis.ticks,
        curves=(staircase(totals[0], total_axis), staircase(totals[1], total_axis)),
        curve_ticks=total_axis.ticks,
    )
