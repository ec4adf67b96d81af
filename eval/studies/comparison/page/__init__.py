"""The report of a comparison: `comparison.json` for programs, its differences as CSV, and pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assay.eval.report.blocks import Block, Column, Facts, Prose, Table
from assay.eval.report.formats import shorten
from assay.eval.report.markdown import CELL
from assay.eval.report.page import dump, render_page
from assay.eval.report.renderers import markdown
from assay.eval.report.renderers.page import show_table
from assay.eval.runs.files import MARKDOWN, PAGE, encode_json
from assay.eval.runs.json_form import to_json
from assay.eval.studies.comparison.comparison import COMPARISON, FIRST, TABLE, Comparison
from assay.eval.studies.comparison.first_hits import render_first_hits
from assay.eval.studies.comparison.frame import render_differences
from assay.eval.studies.comparison.page.differences import STYLES
from assay.eval.studies.comparison.page.flow import Flow, FlowRow
from assay.eval.studies.comparison.page.provenance import Contrast
from assay.eval.studies.comparison.page.view import ComparisonView, Mover, PairView, make_view
from assay.eval.studies.comparison.report import report
from assay.retrievers.store.files import write_atomically

__all__ = ["COMPARISON", "write"]

SCRIPTS = (
    "report/templates/shared.js",
    "studies/comparison/templates/comparison_scatter.js",
    "studies/comparison/templates/comparison_panel.js",
    "studies/comparison/templates/comparison_grid.js",
    "studies/comparison/templates/comparison.js",
)


def write(compared: Comparison, reports: Path) -> Path:
    """Write the files into a folder of their own below `reports`; return the page's path.

    The same comparison gives the same files in the same folder.
    """
    folder = reports / compared.id
    view = make_view(compared)
    tables = tabulate_contrasts(view)
    told = report(compared)
    told = replace(told, blocks=[*told.blocks, *list_details(view)])
    page = render_page(
        "studies/comparison/templates/comparison.html.j2",
        scripts=SCRIPTS,
        styles=STYLES,
        view=view,
        tables={key: show_table(table) for key, table in tables.items()},
        data=dump(view.details),
    )
    write_atomically(folder / COMPARISON, encode_json(to_json(compared)))
    write_atomically(folder / TABLE, render_differences(compared).encode())
    write_atomically(folder / FIRST, render_first_hits(compared).encode())
    write_atomically(folder / MARKDOWN, markdown.render(told).encode())
    write_atomically(folder / PAGE, page.encode())
    return folder / PAGE


Cells = Callable[[Contrast], str]


def list_details(view: ComparisonView) -> list[Block]:
    """Return blocks on all pairs with the base, what differs between runs, and the method."""
    pairs = [block for pair in view.pairs for block in _list_pair(pair, view.labels[0])]
    return [
        *pairs,
        *tabulate_contrasts(view).values(),
        Facts("How it was compared", view.method),
    ]


def tabulate_contrasts(view: ComparisonView) -> dict[str, Table]:
    """Return the tables of the runs' provenance, by key; those without a row are left out."""
    parts = (
        ("index", "Index", view.index),
        ("configs", "Config, where it differs", view.configs),
        ("facts", "Models, engines, code and machine, where they differ", view.facts),
        ("runs_made", "Runs", view.runs),
    )
    columns = [
        Column("key", "", value=lambda row: row.key),
        *(Column(f"run_{i}", label, value=_read_value(i)) for i, label in enumerate(view.labels)),
    ]
    return {key: Table(key, title, columns, rows) for key, title, rows in parts if rows}


def _read_value(place: int) -> Cells:
    return lambda row: row.values[place]


def _list_pair(pair: PairView, base: str) -> Iterator[Block]:
    names = f"{pair.other} against {base}"
    if pair.foresight:
        yield Prose(f"What these queries can show: {names}", pair.foresight)
    for key, title, movers in (
        ("gains", "Queries that gain most", pair.gains),
        ("losses", "Queries that lose most", pair.losses),
    ):
        if movers:
            yield _tabulate_movers(key, f"{title}: {names}", movers, base, pair.other)
    yield Prose(f"Miss analysis: {names}", pair.flow_sentence)
    if pair.flow.rows:
        yield _tabulate_flow(pair.flow, base, pair.other)


def _tabulate_movers(key: str, title: str, movers: Sequence[Mover], base: str, other: str) -> Table:
    columns = [
        Column("text", "Query", value=lambda row: shorten(row.text, CELL)),
        Column("id", "Id"),
        Column("type", "Type"),
        Column("base", base),
        Column("other", other),
        Column("difference", "Difference"),
    ]
    return Table(key, title, columns, movers)


def _tabulate_flow(flow: Flow, base: str, other: str) -> Table:
    """Return a table with a row for each status in the base, a column for each in the other."""
    columns = [
        Column("status", f"in {base}", value=lambda row: row.status.status),
        *(
            Column(name.status, name.status, "count", value=_read_items(i))
            for i, name in enumerate(flow.statuses)
        ),
        Column("items", "all", "count"),
    ]
    return Table("flow", f"Correct passages by status: columns in {other}", columns, flow.rows)


def _read_items(place: int) -> Callable[[FlowRow], int]:
    return lambda row: row.cells[place].items
