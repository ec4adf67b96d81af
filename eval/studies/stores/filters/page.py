"""The report of searches with filters: `filters.json` and its page."""

from collections.abc import Iterator
from pathlib import Path

from assay.eval.report.files import write_report
from assay.eval.report.formats import amount, count, score
from assay.eval.report.plots import LogAxis, whisker
from assay.eval.report.provenance import describe_environment
from assay.eval.studies.stores.filters.study import (
    DEPTH,
    FilteredEngine,
    FilteredSearch,
    FilterStudy,
)
from assay.eval.studies.sweep.pareto import FrontPlot, Mark, axis_around, ends, from_top, list_ticks

HEADINGS = ("found", "texts", f"recall@{DEPTH}", "short", "asked", "p50 ms", "p50 ×", "p95 ×")
MEANINGS = {
    "unrelated": "drawn at random",
    "nearest": "those nearest to the query",
    "farthest": "those farthest from it",
}


def write(study: FilterStudy, reports: Path) -> Path:
    """Write both files into a folder of their own below `reports`; return the path of the page."""
    values = {
        "study": study,
        "facts": (
            count(study.passages, "passage"),
            count(study.queries, "query", "queries"),
            study.created,
        ),
        "headings": HEADINGS,
        "engines": [
            (
                engine.engine,
                list(list_rows(engine)),
                plot(engine),
                describe(engine),
            )
            for engine in study.engines
        ],
        "depth": DEPTH,
        "meanings": MEANINGS,
        "environment": (("Study", study.id), *describe_environment(study.environment)),
    }
    return write_report(
        "studies/stores/templates/filters", study, reports / study.id, values, markdown=False
    )


def describe(engine: FilteredEngine) -> str:
    """Say how an engine is filtered."""
    if engine.restricted:
        return "passes over the other texts itself, while it searches"
    return "cannot leave out texts: it is asked for more, in growing steps, and the rest dropped"


def list_rows(engine: FilteredEngine) -> Iterator[tuple[str, ...]]:
    """Yield the rows of an engine, that of searches among all texts first."""
    p50, p95 = (engine.latency[name].value for name in ("p50", "p95"))
    whole = engine.recall.value
    yield ("100.0%", "all", score(whole), "–", str(DEPTH), amount(p50), "1.00", "1.00")
    for item in engine.searches:
        yield (
            f"{item.share:.1%}",
            item.relation,
            score(item.recall.value),
            f"{item.short:.0%}",
            f"{item.asked:,.0f}",
            amount(item.latency["p50"].value),
            *(
                f"{item.latency[name].value / unfiltered:.2f}"
                for name, unfiltered in (("p50", p50), ("p95", p95))
            ),
        )


def plot(engine: FilteredEngine) -> FrontPlot:
    """Return recall against p50 by the share that may be found; the line joins unrelated ones."""
    times = [item.latency["p50"] for item in engine.searches]
    across = LogAxis.around([end for taken in times for end in ends(taken)])
    down = axis_around([0.0, 1.0])
    marks = [
        Mark(
            number=number,
            across=whisker(taken, across),
            down=from_top(whisker(item.recall, down)),
            front=item.relation == "unrelated",
            title=_name(item),
        )
        for number, (item, taken) in enumerate(zip(engine.searches, times, strict=True), start=1)
    ]
    joined = [f"{mark.across.at:g} {mark.down.at:g}" for mark in marks if mark.front]
    return FrontPlot(
        marks=tuple(marks),
        across=across.ticks,
        quality=list_ticks(down),
        path=f"M{'L'.join(joined)}",
        summary=f"recall against latency: {'; '.join(mark.title for mark in marks)}",
        unplaced=0,
    )


def _name(item: FilteredSearch) -> str:
    return (
        f"{item.share:.1%} {item.relation}: recall@{DEPTH} {score(item.recall.value)}, "
        f"p50 {amount(item.latency['p50'].value)} ms"
    )
