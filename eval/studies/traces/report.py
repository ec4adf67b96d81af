"""The reports of traces: their figures, a sample of them, and a comparison of two periods."""

import math
from collections.abc import Mapping
from operator import itemgetter

from assay.eval.report.blocks import Cell, Column, Format, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.studies.traces.drift import DRAWS, LEAST_SESSIONS, SHARE, Shift
from assay.eval.studies.traces.period_comparison import TrafficDrift
from assay.eval.studies.traces.reading import StepFigures, TraceReading, tell_time
from assay.eval.studies.traces.sample_files import TrafficSample

METHOD = (
    f"Sessions are drawn into the periods at random, {DRAWS:,} times. p is the share of draws in "
    "which any figure moves as far as this one did, so that where nothing moved, anything at all "
    "is found in 5 % of comparisons. Times, scores and similarities are medians, tested by ranks. "
    f"Words are those of most searches, in {LEAST_SESSIONS} sessions or more."
)
FOLLOWING = (
    "Queries of the later period that are far from any judged one, and how many searches each "
    "stands for."
)


def _known(value: float) -> float | None:
    """Return a figure; None if no search has one."""
    return None if math.isnan(value) else value


def _find_format(shift: Shift) -> Format:
    return "share" if shift.unit == SHARE else "amount"


def _find_latency(step: StepFigures, name: str) -> Cell:
    return step.latency().get(name)


SHIFTS = (
    Column("what", "What"),
    Column("unit", "Is a"),
    Column("base", "Earlier", _find_format, lambda shift: _known(shift.base)),
    Column("now", "Later", _find_format, lambda shift: _known(shift.now)),
    Column("p", "p", "p"),
)
STEPS = (
    Column("name", "Step", value=lambda step: step.name + " (inferred)" * step.inferred),
    Column("kind", "Kind"),
    Column("searches", "Searches", "count"),
    Column("documents", "Documents", "amount", lambda step: step.documents / step.searches),
    Column("p50_ms", "p50 ms", "ms", lambda step: _find_latency(step, "p50")),
    Column("p95_ms", "p95 ms", "ms", lambda step: _find_latency(step, "p95")),
)
STRATA = (
    Column("name", "Stratum", value=itemgetter(0)),
    Column("queries", "Queries", "count", itemgetter(1)),
    Column("searches", "Searches", "count", itemgetter(2)),
    Column("drawn", "Drawn", "count", itemgetter(3)),
)


def report_drift(found: TrafficDrift) -> Report:
    """Return the report of two periods of traffic; it shows masked texts of queries."""
    others: list[Shift] = [shift for shift in found.shifts if not shift.moved]
    following = [
        Column("query", "Query", value=itemgetter(0)),
        Column("searches", "Searches", "count", itemgetter(1)),
    ]
    next_ = found.coverage.following if found.coverage else ()
    return Report(
        id=found.id,
        kind="drift",
        title="Two periods of traffic",
        subject=[
            f"{name}: {count(searches, 'search', 'searches')}"
            for name, searches in zip(found.periods, found.searches, strict=True)
        ],
        verdict=found.tell(),
        warnings=_list_faults(found.faults),
        blocks=[
            *([Table("moved", "What moved", SHIFTS, found.moved)] if found.moved else []),
            *([Table("next", "What to judge next", following, next_, FOLLOWING)] if next_ else []),
            Table("others", "All else that was tested", SHIFTS, others, brief=False),
            Prose("How it was tested", METHOD),
            *(Prose("Personal data", note) for note in found.notes),
        ],
        environment=found.environment,
    )


def report_reading(made: TraceReading) -> Report:
    """Return the report of the figures of traces."""
    figures = made.figures
    sessions = f" of {count(len(figures.sessions), 'session')}" if figures.sessions else ""
    searches = count(figures.searches, "search", "searches")
    return Report(
        id="",
        kind="traces",
        title="Traces",
        subject=(
            count(made.spans, "span"),
            " to ".join(map(tell_time, (figures.first, figures.last))),
        ),
        verdict=[f"{searches}{sessions}; {figures.without_hits:,} found nothing"],
        warnings=[*_list_faults(made.faults), *made.notes],
        blocks=[Table("steps", "Steps", STEPS, figures.in_order)],
    )


def report_sample(made: TrafficSample) -> Report:
    """Return the report of a sample of traffic."""
    return Report(
        id="",
        kind="sample",
        title="A sample of traffic",
        subject=(made.reference, count(made.pairs, "pair") + " to judge"),
        verdict=[
            f"{len(made.drawn):,} of {count(made.queries, 'query', 'queries')} drawn, which stand "
            f"for {count(made.searches, 'search', 'searches')}"
        ],
        warnings=[*_list_faults(made.faults), *made.notes],
        blocks=[Table("strata", "Strata", STRATA, made.strata())],
    )


def _list_faults(faults: Mapping[str, int]) -> list[str]:
    """Return a line on the skipped spans; [] if there are none."""
    told = [f"{times:,} × {what}" for what, times in faults.items()]
    return ["; ".join(told)] if told else []
