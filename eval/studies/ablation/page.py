"""The report of an ablation: `ablation.json`, `report.md` and `report.html`."""

from dataclasses import dataclass
from pathlib import Path

from assay.eval.report.files import write_report
from assay.eval.report.formats import adjusted, amount, count, interval, score
from assay.eval.report.plots import LinearAxis
from assay.eval.studies.ablation.analysis import Ablation, Row
from assay.eval.studies.comparison.page.differences import (
    STYLES,
    DifferenceRow,
    difference_row,
    make_axis,
)


@dataclass(frozen=True)
class PartRow:
    """A part as the table shows it. `headline` is of the first measure, `others` of the rest."""

    label: str
    finding: str
    headline: DifferenceRow | None
    others: tuple[DifferenceRow, ...]
    changed: str
    tokens: str
    p50: str
    p95: str
    total: str
    run: str


@dataclass(frozen=True)
class TableView:
    """One of the two tables."""

    title: str
    note: str
    rows: tuple[PartRow, ...]


def write(ablation: Ablation, folder: Path) -> Path:
    """Write the three files into `folder`, which is made; return the path of the page."""
    shared = make_axis(item for row in ablation.rows for item in row.differences[:1])
    values = {
        "ablation": ablation,
        "adjusted": adjusted(ablation.tests, "of both tables together"),
        "facts": (
            f"on {ablation.collection}",
            count(ablation.queries, "query", "queries"),
            count(len(ablation.removals), "part"),
            ablation.created,
        ),
        "measures": ablation.measures,
        "axis": shared,
        "tables": _tables(ablation, shared.axis),
        "means": [
            (name, ablation.means[key], run)
            for name, key, run in (
                (ablation.name, "full", ablation.full),
                (f"plain: {', '.join(ablation.plain_legs)}", "plain", ablation.plain),
            )
        ],
        "score": score,
    }
    return write_report(
        "studies/ablation/templates/ablation", ablation, folder, values, styles=STYLES
    )


def _tables(ablation: Ablation, axis: LinearAxis) -> list[TableView]:
    given = (
        (
            "What each part adds to the whole",
            "The whole pipeline minus the pipeline without the part, and without what cannot be "
            "without it. Times of the part are those within the whole pipeline.",
            ablation.removals,
        ),
        (
            "What each part adds alone",
            f"The plain pipeline ({', '.join(ablation.plain_legs)}) with the part, and with what "
            "it needs, minus the plain pipeline.",
            ablation.additions,
        ),
    )
    return [
        TableView(title, note, tuple(_part_row(row, axis) for row in rows))
        for title, note, rows in given
        if rows
    ]


def _part_row(row: Row, axis: LinearAxis) -> PartRow:
    shown = [difference_row(item, axis) for item in row.differences]
    return PartRow(
        label=row.label,
        finding=row.finding,
        headline=shown[0] if shown else None,
        others=tuple(shown[1:]),
        changed=f"{row.changed_top} of {row.queries}" if shown else "",
        tokens=f"{row.tokens:+,.0f}" if shown else "",
        p50=amount(row.own.p50) if row.own else "–",
        p95=amount(row.own.p95) if row.own else "–",
        total=f"{row.total.value:+.1f} ({interval(row.total, '{:+.1f}'.format, ' … ')})"
        if row.total
        else "–",
        run=row.run,
    )
