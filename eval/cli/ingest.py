"""`assay ingest`: what a pipeline makes of documents before the first query."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places, track
from assay.eval.cli.report_screen import print_report


@click.command()
@click.argument("documents")
@options.OVERRIDES
@click.option(
    "--config",
    default="hybrid_rrf",
    show_default=True,
    help="The pipeline that takes the documents in.",
)
@click.option(
    "--baseline",
    type=click.Path(exists=True),
    metavar="FILE",
    help="Hold it against this ingestion.json; exit with 1 where it is worse.",
)
@options.rerun("Do all of it again; times are measured on this.")
@options.NO_TRACK
@options.FULL
@options.JSON
def ingest(
    documents: str,
    overrides: tuple[str, ...],
    config: str,
    baseline: str | None,
    rerun: bool,
    no_track: bool,
    as_json: bool,
) -> None:
    """Convert, chunk, embed and index DOCUMENTS: a folder of files, one file, or a collection.

    Reports sizes, checks and times, and what could not be read. Only files whose content changed
    since the last time are processed again. Overrides change single keys of the config.

    With --baseline it is worse where more documents cannot be rebuilt, more files are skipped, more
    chunks are oversize or beyond the encoder's limit, or a document gives no chunk any more.
    """
    import sys
    from dataclasses import asdict
    from functools import partial
    from pathlib import Path

    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.ingestion.baseline import check, metrics
    from assay.eval.studies.ingestion.report import report
    from assay.eval.studies.ingestion.running import run_ingestion
    from assay.eval.tracking.delivery import log_result

    resources = make_resources()
    made = run_ingestion(documents, load_config(config, overrides), resources, rerun)
    against = check(made, Path(baseline)) if baseline else None
    folder = reports_folder() / made.id
    told = report(made, against)
    page = write_blocks(made, told, folder)
    log = partial(log_result, told, folder.iterdir(), made.config, metrics=metrics(made))
    tracked = track(no_track, log, f"the report is kept in {folder}", resources.progress)
    if as_json:
        skipped = [asdict(item) for item in made.skipped]
        places = {"report": str(page), "mlflow_run": tracked}
        named = {"ingestion": made.id, "source": made.source, "pipeline": made.pipeline}
        lists = {"skipped_files": skipped, "notes": made.notes}
        held = {"against": asdict(against) | {"fails": against.fails}} if against else {}
        print_json({**named, **made.figures(), **lists, **held, **places})
    else:
        print_report(told)
        print_places(report=page, mlflow_run=tracked)
    if against and against.fails:
        sys.exit(1)
