"""Latency, as a report shows it."""

from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, figure
from assay.eval.report.plots import LogAxis, Tick, staircase, strip
from assay.eval.runs.latency import TOTAL, collect_times
from assay.eval.runs.summary.summary import Summary, explain_open

MOST_LINES = 300  # of a strip; more only darken it


@dataclass(frozen=True)
class StageRow:
    """The latency of one stage: p50, p95 and p99, a line a query, and p50 with p95 and p99.

    `cpu` is the median CPU time, a dash where it is not known.
    """

    name: str
    n: int
    figures: tuple[Figure, ...]
    cpu: str
    lines: str
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class AnswerCurve:
    """The share of queries answered within a time: a path, and where half and 95 % are reached."""

    path: str
    ticks: tuple[Tick, ...]
    half: Tick
    most: Tick


@dataclass(frozen=True)
class LatencyTable:
    """Latency by stage, the total first, on one logarithmic axis.

    `caution` is what the reader should know of the percentiles of a small sample. `disturbance`
    says that other processes were working, and then CPU time is shown; `unknown` that nobody knows.
    """

    stages: tuple[StageRow, ...]
    ticks: tuple[Tick, ...]
    answered: AnswerCurve
    timed: int
    queries: int
    caution: str
    disturbance: str
    unknown: str


def time_stages(summary: Summary) -> LatencyTable | None:
    """Return the latency by stage; None when none was measured."""
    samples = collect_times(summary.run.latency)
    if not samples:
        return None
    axis = LogAxis.around([taken for times in samples.values() for taken in times])
    rows = tuple(stage_row(summary, stage, times, axis) for stage, times in samples.items())
    return LatencyTable(
        stages=rows,
        ticks=axis.ticks,
        answered=_answered(summary, samples[TOTAL]),
        timed=len(summary.run.latency),
        queries=len(summary.run.queries),
        caution=f"{few}." if (few := explain_open(summary.latency[TOTAL])) else "",
        disturbance=summary.disturbance,
        unknown=summary.unknown_load,
    )


def _answered(summary: Summary, times: list[float]) -> AnswerCurve:
    axis = LogAxis.around(times)
    half, most = (summary.latency[TOTAL][name].value for name in ("p50", "p95"))
    return AnswerCurve(
        path=staircase(times, axis),
        ticks=axis.ticks,
        half=Tick(axis.place(half), formats.amount(half)),
        most=Tick(axis.place(most), formats.amount(most)),
    )


def stage_row(summary: Summary, stage: str, times: list[float], axis: LogAxis) -> StageRow:
    """Return the latency of a stage, drawn on `axis`."""
    estimates = summary.latency[stage]
    shown = times[:: -(-len(times) // MOST_LINES)]
    return StageRow(
        name=stage,
        n=len(times),
        figures=tuple(figure(estimate, formats.amount) for estimate in estimates.values()),
        cpu=formats.amount(summary.cpu[stage]) if stage in summary.cpu else "–",
        lines=strip(shown, axis),
        p50=axis.place(estimates["p50"].value),
        p95=axis.place(estimates["p95"].value),
        p99=axis.place(estimates["p99"].value),
    )
