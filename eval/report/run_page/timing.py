"""The latency of a stage, as a page draws it."""

from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, figure
from assay.eval.report.plots import LogAxis, strip
from assay.eval.runs.summary.summary import Summary

MOST_LINES = 300  # of a strip; more only darken it


@dataclass(frozen=True)
class StageRow:
    """The latency of one stage: p50, p95 and p99, a line a query, and p50 with p95 and p99.

    `cpu` is the median CPU time, a dash if not known.
    """

    name: str
    n: int
    figures: tuple[Figure, ...]
    cpu: str
    lines: str
    p50: float
    p95: float
    p99: float


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
