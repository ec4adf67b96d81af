"""The report of a recall-latency curve: `recall.json` and `report.html`."""

from dataclasses import dataclass
from pathlib import Path

from assay.eval.report.files import write_report
from assay.eval.report.formats import Figure, amount, count, figure, score, size
from assay.eval.report.plots import LogAxis, whisker
from assay.eval.report.provenance import describe_environment
from assay.eval.studies.stores.recall.curve import DEPTHS, Curve, Point
from assay.eval.studies.sweep.pareto import FrontPlot, Mark, axis_around, ends, from_top, list_ticks

COST = "p50"


@dataclass(frozen=True)
class PointRow:
    """A point as the table shows it: by depth recall, p50 and p95; then the measure.

    `share` is that of the passages which a filter lets through.
    """

    number: int
    label: str
    share: str
    exact: bool
    figures: tuple[Figure, ...]
    index: tuple[str, str]


def write(curve: Curve, reports: Path) -> Path:
    """Write both files into a folder of its own below `reports`; return the path of the page."""
    values = {
        "curve": curve,
        "facts": (
            count(curve.queries, "query", "queries"),
            count(len(curve.points), "point"),
            curve.created,
        ),
        "headings": list_headings(curve),
        "rows": [point_row(number, point) for number, point in enumerate(curve.points, start=1)],
        "plots": [(depth, plot_curve(curve, depth)) for depth in DEPTHS],
        "cost": COST,
        "environment": (("Curve", curve.id), *describe_environment(curve.environment)),
    }
    return write_report(
        "studies/stores/templates/recall", curve, reports / curve.id, values, markdown=False
    )


def list_headings(curve: Curve) -> list[str]:
    """Return the headings of the figures of a row."""
    by_depth = (f"{name}@{depth}" for depth in DEPTHS for name in ("Recall", "p50 ms", "p95 ms"))
    return [*by_depth, curve.measure]


def point_row(number: int, point: Point) -> PointRow:
    """Return a point as a row."""
    figures = []
    for depth in DEPTHS:
        figures.append(figure(point.recall[depth], score))
        figures += [figure(item, amount) for item in point.latency[depth].values()]
    return PointRow(
        number=number,
        label=point.label,
        share=f"{100 * point.share:g} %",
        exact=point.exact,
        figures=(*figures, figure(point.quality, score) if point.quality else Figure("–", "")),
        index=(amount(point.seconds), size(point.bytes)),
    )


def plot_curve(curve: Curve, depth: int) -> FrontPlot:
    """Return recall against latency.

    Lines join the points in the order of their values, one for each share; where no setting is
    varied they join the shares of each search.
    """
    costs = [point.latency[depth][COST] for point in curve.points]
    recalls = [point.recall[depth] for point in curve.points]
    across = LogAxis.around([end for cost in costs for end in ends(cost)])
    down = axis_around([end for recall in recalls for end in ends(recall)])
    marks = [
        Mark(
            number=number,
            across=whisker(cost, across),
            down=from_top(whisker(recall, down)),
            front=True,
            title=(
                f"{point.name}: recall@{depth} {score(recall.value)}, "
                f"{COST} {amount(cost.value)} ms"
            ),
        )
        for number, (point, cost, recall) in enumerate(
            zip(curve.points, costs, recalls, strict=True), start=1
        )
    ]
    lines: dict[str | float, list[str]] = {}
    for mark, point in zip(marks, curve.points, strict=True):
        if not (curve.key and point.exact):
            line = lines.setdefault(point.share if curve.key else point.label, [])
            line.append(f"{mark.across.at:g} {mark.down.at:g}")
    return FrontPlot(
        marks=tuple(marks),
        across=across.ticks,
        quality=list_ticks(down),
        path="".join(f"M{'L'.join(line)}" for line in lines.values()),
        summary=f"recall against latency: {'; '.join(mark.title for mark in marks)}",
        unplaced=0,
    )
