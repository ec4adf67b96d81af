"""`assay recall`: what approximate search misses, and what it saves."""

from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table, track

if TYPE_CHECKING:
    from assay.eval.studies.stores.recall.curve import Curve


@click.command()
@click.argument("engine")
@click.argument("words", nargs=-1, metavar="[COLLECTION] [KEY=VALUE]...")
@click.option("--sweep", metavar="KEY=V1,V2,…", help="A setting and its values.")
@click.option(
    "--filters", metavar="SHARE,…", help="Shares of the passages that filters let through."
)
@options.LIMIT
@options.NO_TRACK
@options.JSON
def recall(
    engine: str,
    words: tuple[str, ...],
    sweep: str | None,
    filters: str | None,
    limit: int | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Measure recall and speed of ENGINE's approximate dense search, by a setting or by filters.

    KEY is a setting of the engine's approximate index, as in --sweep ef=8,16,32,64,128, or
    index.nprobes=1,5,20; KEY=VALUE changes others, such as which index it is. ENGINE may also be
    the leg `dense`, as in --sweep quantisation=int8,binary or dimensions=64,128. For each value:
    recall@10 and recall@100 on the collection's own queries, nDCG@10 of the dense list, p50 and
    p95, with those of exact search beside them.

    With --filters .5,.1,.01 each is also searched among such shares of the passages, drawn at
    random; recall is then against exact search among these. It goes with --sweep or alone.
    """
    from functools import partial

    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.parity.record import log_curve
    from assay.eval.studies.stores.recall import page as report
    from assay.eval.studies.stores.recall.running import measure_recall

    resources = make_resources()
    curve = measure_recall(engine, words, sweep, filters, limit, resources)
    page = report.write(curve, reports_folder())
    kept = f"the report in {page.parent} is kept"
    log = partial(log_curve, curve, page.parent)
    tracked = track(no_track, log, kept, resources.progress)
    present(curve, as_json, _print, report=page, mlflow_run=tracked)


def _print(curve: "Curve") -> None:
    from rich.markup import escape

    from assay.eval.studies.stores.recall.page import list_headings, point_row

    sample = ", a sample" if curve.sampled else ""
    title = f"{curve.engine} on {curve.collection} (n = {curve.queries}{sample})"
    headings = list_headings(curve)
    through = ("let through",) if curve.filters else ()
    table = make_table("dense search", *through, *headings, "index s", title=title)
    for number, point in enumerate(curve.points, start=1):
        row = point_row(number, point)
        cells = (
            f"{item.value} ({item.interval})" if item.interval and " ms" not in name else item.value
            for name, item in zip(headings, row.figures, strict=True)
        )
        shares = (row.share,) if curve.filters else ()
        table.add_row(escape(row.label), *shares, *cells, row.index[0])
    print_table(make_console(), table)
