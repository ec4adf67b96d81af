"""`assay import`: rankings made elsewhere become stored runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places

if TYPE_CHECKING:
    from assay.eval.runs.trec_runs import Ties


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dataset", required=True, help="The collection it was searched on.")
@click.option("--name", help="What to call the run; with several systems, the beginning of it.")
@click.option(
    "--depth",
    type=options.at_least(1),
    help="Hits judged of each query.  [default: 100, or as many as the deepest measure looks at]",
)
@click.option(
    "--missing",
    type=click.Choice(["fail", "zero", "drop"]),
    default="fail",
    show_default=True,
    help="Queries without a ranking: refuse them, score them 0, or leave them out.",
)
@click.option(
    "--ties",
    type=click.Choice(["ranks", "ids"]),
    default="ranks",
    show_default=True,
    help="What decides where scores of a TREC run are equal: its ranks, then its lines, or ids, as "
    "trec_eval does, of scores in single precision.",
)
@options.rerun("Judge again though an equal run is stored.")
@click.option(
    "--measure",
    "--measures",
    "measures",
    help="What to judge it by, separated by commas.  [default: as a run]",
)
@click.option("--no-report", is_flag=True, help="Write no report, and log nothing to MLflow.")
@options.NO_TRACK
@options.FULL
@options.JSON
def import_(
    file: Path,
    dataset: str,
    name: str | None,
    depth: int | None,
    missing: str,
    ties: "Ties",
    rerun: bool,
    measures: str | None,
    no_report: bool,
    no_track: bool,
    as_json: bool,
) -> None:
    """Judge FILE, rankings made elsewhere, and store a run for each system in it.

    FILE is a TREC run, or JSON Lines with query_id, ranking and, optionally, system. A hit is the
    id of a passage or document, {document, start, end} or {document, text}. A file that ends in .gz
    is unpacked. In a TREC run scores decide, and ranks where scores are equal; in JSON Lines the
    order given. The runs can then be compared, reported and gated like any other, but for latency.
    """
    from assay.eval.cli.run import print_summary
    from assay.eval.configs.config import DEPTH
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.importing import import_runs
    from assay.eval.running.run import export_summary, track, write_report
    from assay.eval.scoring.measures import choose_depth, split_names

    wanted = split_names(measures) if measures else ()
    kept = choose_depth(wanted, DEPTH, depth)
    progress = ConsoleProgress()
    printed = []
    for outcome in import_runs(file, dataset, name, kept, missing, ties, rerun, progress):
        if no_report:
            summary, page = export_summary(outcome.run, wanted), None
        else:
            summary, page = write_report(outcome.run, wanted)
        tracked = None if no_track or no_report else track(summary, progress)
        shown = {"report": page and str(page), "mlflow_run": tracked}
        printed.append({**summary.as_json(), **shown})
        if not as_json:
            print_summary(summary, outcome.reused)
            print_places(report=page, mlflow_run=tracked)
    if as_json:
        print_json({"runs": printed})
