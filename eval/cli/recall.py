"""`assay recall`: what approximate search misses, and what it saves."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, track
from assay.eval.cli.report_screen import print_report


@click.command()
@click.argument("engine")
@click.argument("words", nargs=-1, metavar="[COLLECTION] [KEY=VALUE]...")
@click.option("--sweep", metavar="KEY=V1,V2,…", help="A setting and its values.")
@click.option(
    "--filters", metavar="SHARE,…", help="Shares of the passages that filters let through."
)
@options.LIMIT
@options.NO_TRACK
@options.FULL
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
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.stores.recall.report import report
    from assay.eval.studies.stores.recall.running import measure_recall
    from assay.eval.tracking.delivery import log_result

    resources = make_resources()
    curve = measure_recall(engine, words, sweep, filters, limit, resources)
    told = report(curve)
    page = write_blocks(curve, told, reports_folder() / curve.id)
    kept = f"the report in {page.parent} is kept"
    params = {"engine": curve.settings, "collection": curve.collection}
    log = partial(log_result, told, page.parent.iterdir(), params)
    tracked = track(no_track, log, kept, resources.progress)
    present(curve, as_json, lambda _: print_report(told), report=page, mlflow_run=tracked)
