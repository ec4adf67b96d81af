"""The details of a comparison: queries that moved, misses, and differences between the runs."""

from collections.abc import Callable, Iterator, Sequence

from assay.eval.report.blocks import Block, Column, Facts, Prose, Table
from assay.eval.report.formats import shorten
from assay.eval.report.markdown import CELL
from assay.eval.studies.comparison.page.flow import Flow, FlowRow
from assay.eval.studies.comparison.page.provenance import Contrast
from assay.eval.studies.comparison.page.view import ComparisonView, Mover, PairView

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
