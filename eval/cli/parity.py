"""`assay parity`: what an engine's hybrid search really is, and what it is worth."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, track
from assay.eval.cli.report_screen import print_report


@click.command()
@click.argument("engine")
@click.argument("words", nargs=-1, metavar="[COLLECTION] [KEY=VALUE]...")
@options.LIMIT
@options.NO_TRACK
@options.FULL
@options.JSON
def parity(
    engine: str, words: tuple[str, ...], limit: int | None, no_track: bool, as_json: bool
) -> None:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched separately and fused by its stated formula. The verdict on what it returns: identical,
    identical but for ties, or different. Then quality and latency of its lists, its own fusion, and
    ours (reciprocal ranks, k = 60) of the same lists.

    Exit code: 0 done, whatever the verdict; 2 for an error to fix.
    """
    from functools import partial

    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.stores.parity.report import report
    from assay.eval.studies.stores.parity.running import measure_parity
    from assay.eval.tracking.delivery import log_result

    resources = make_resources()
    found = measure_parity(engine, words, limit, resources)
    told = report(found)
    page = write_blocks(found, told, reports_folder() / found.id)
    log = partial(
        log_result,
        told,
        page.parent.iterdir(),
        {"engine": found.settings, "collection": found.collection},
        without=("examples",),  # ranks of single texts are no metrics
        tags={"assay.verdict": found.verdict},
    )
    tracked = track(no_track, log, "the reports are kept", resources.progress)
    present(found, as_json, lambda _: print_report(told), report=page, mlflow_run=tracked)
