"""A study of the recall and the speed of approximate search."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Cell, Column, Prose, Report, Scatter, Table
from assay.eval.report.formats import amount, count, score
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions
from assay.eval.running.study_options import LARGEST, LIMIT_HELP, Words
from assay.eval.studies.stores.recall.curve import DEPTHS, Curve, Point
from assay.eval.studies.stores.recall.filters import ALL
from assay.eval.studies.stores.recall.running import measure_recall
from assay.eval.tracking.delivery import log_result


class RecallOptions(StudyOptions):
    """An engine, a collection, and the setting or filters to vary."""

    engine: Annotated[str, Argument()]
    words: Words = ()
    sweep: Annotated[str | None, Option(metavar="KEY=V1,V2,…")] = Field(
        None, description="A setting and its values."
    )
    filters: Annotated[str | None, Option(metavar="SHARE,…")] = Field(
        None, description="Shares of the passages that filters let through."
    )
    limit: int | None = Field(None, ge=1, le=LARGEST, description=LIMIT_HELP)


def find(asked: RecallOptions, lab: Lab) -> Curve:
    """Measure recall and speed of ENGINE's approximate dense search, by a setting or by filters.

    KEY is a setting of the engine's approximate index, as in --sweep ef=8,16,32,64,128, or
    index.nprobes=1,5,20; KEY=VALUE changes others, such as which index it is. For each value:
    recall@10 and recall@100 on the collection's own queries, nDCG@10 of the dense list, p50 and
    p95, and those of exact search.

    With --filters .5,.1,.01 each is also searched among such shares of the passages, drawn at
    random; recall is then against exact search among these. It goes with --sweep or alone.
    """
    varied = asked.sweep, asked.filters
    return measure_recall(asked.engine, asked.words, *varied, asked.limit, lab.resources)


def log(found: Curve, files: Sequence[Path], _lab: Lab) -> str:
    """Send a curve with its files to MLflow; return the run's id. Raises TrackingError."""
    params = {"engine": found.settings, "collection": found.collection}
    return log_result(report(found), files, params)


NOTE = (
    "Numbers in the plots are those of the rows, whiskers 95 % intervals; the line is that of what "
    "no other row beats in both figures."
)
RECALL = (
    "Recall is the share of the nearest passages of exact search that is found, on the "
    "collection's own queries; of passages that are equally near any counts. {measure} is of the "
    "dense list only. An index that looks at no fewer candidates than requested ignores smaller "
    "values."
)
FILTERED = (
    " A filter lets through passages drawn at random, the same of every search and query: recall "
    "is then against exact search among these, and {measure} is left out. A search that cannot "
    "pass over the others is asked for more, in growing steps, which its time has."
)
METHOD = (
    "Every value searched an index of the same vectors, of {encoder}. All were timed interleaved "
    "in one process, to one depth after the other; each time is the median of up to three rounds, "
    "encoding of the query left out. Intervals at 95 %: Student's over queries for means, exact "
    "for latencies, with no upper end where the times are too few for one (whiskers then go to the "
    "edge)."
)


def report(curve: Curve) -> Report:
    """Return the report of a curve: a table for all passages, and one for each filter."""
    told = RECALL + FILTERED * bool(curve.filters)
    return Report(
        id=curve.id,
        kind="recall",
        title=f"Recall of {curve.engine} by {curve.axes} on {curve.collection}",
        subject=(
            count(curve.queries, "query", "queries"),
            count(len(curve.points), "point"),
            curve.created,
        ),
        verdict=[_conclude(curve, share) for share in (ALL, *curve.filters)],
        warnings=curve.warnings,
        blocks=[
            *(_show_points(curve, share) for share in (ALL, *curve.filters)),
            Prose("What recall is", told.format(measure=curve.measure)),
            Prose("Indexes and times", METHOD.format(encoder=curve.encoder)),
        ],
        environment=curve.provenance,
    )


def _conclude(curve: Curve, share: float) -> str:
    """Describe the recall and the latency of the values with the least and the most recall."""
    depth = min(DEPTHS)
    points = [point for point in curve.points if point.share == share]
    tried = [point for point in points if not point.exact]
    found = []
    if tried:
        least, most = (choose(tried, key=lambda i: i.recall[depth].value) for choose in (min, max))
        alike = ", as the others," if least is most and len(tried) > 1 else ""
        found = [
            f"{point.label}{alike} finds {score(point.recall[depth].value)} of them in "
            f"{_time(point, depth)}"
            for point in ([most] if least is most else [least, most])
        ]
    found += [f"exact search takes {_time(point, depth)}" for point in points if point.exact]
    nearest = f"for the {depth} nearest passages"
    if share != ALL:
        nearest += f" that a filter of {_percent(share)} lets through"
    return f"{nearest}: {'; '.join(found)} (p50)"


def _time(point: Point, depth: int) -> str:
    return f"{amount(point.latency_ms[depth]['p50'].value)} ms"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _show_points(curve: Curve, share: float) -> Table:
    """Return the points of all passages, or those of a filter, in the order of the values."""
    whole = share == ALL
    where = "" if whole else f" through a filter of {_percent(share)}"
    columns = [
        Column("search", "Search", value=lambda point: point.label),
        *(column for depth in DEPTHS for column in _list_columns(depth)),
        *([Column("quality", curve.measure, "score")] if whole else []),
        Column("seconds", "Index s", "ms", brief=False),
        Column("bytes", "Size", "size", brief=False),
    ]
    scatters = [
        Scatter(
            f"Recall@{depth} against exact search, by latency of a search for {depth}; up and to "
            "the left is better",
            across=f"p50_{depth}",
            down=f"recall_{depth}",
            log=True,
        )
        for depth in DEPTHS
    ]
    return Table(
        key="points" if whole else f"points_{100 * share:g}",
        title=f"Recall and latency{where}",
        columns=columns,
        rows=[point for point in curve.points if point.share == share],
        note=NOTE,
        scatters=scatters,
    )


def _list_columns(depth: int) -> Iterator[Column]:
    """Yield the columns of recall and latency at a depth."""
    yield Column(f"recall_{depth}", f"Recall@{depth}", "score", lambda i: i.recall[depth])
    for name, brief in (("p50", True), ("p95", False)):
        value = partial(_find_latency, depth, name)
        yield Column(f"{name}_{depth}", f"{name} ms@{depth}", "ms", value, brief)


def _find_latency(depth: int, percentile: str, point: Point) -> Cell:
    return point.latency_ms[depth][percentile]


STUDY = Study("recall", RecallOptions, find, report, log=log)
