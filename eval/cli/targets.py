"""`assay targets`: every success criterion, measured, with a verdict."""

from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places, track
from assay.eval.cli.report_screen import print_report


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--file",
    "path",
    type=options.FILE,
    default=Path("configs/targets.yaml"),
    show_default=True,
    help="The targets.",
)
@options.rerun("Measure again what equal calls measured before.")
@options.NO_TRACK
@options.FULL
@options.JSON
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of targets.md and targets.json.  [default: targets below the reports]",
)
@click.option("--readme", type=options.FILE, help="Replace the totals of targets in this file.")
def targets(
    ids: tuple[str, ...],
    path: Path,
    rerun: bool,
    no_track: bool,
    as_json: bool,
    output: Path | None,
    readme: Path | None,
) -> None:
    """Measure the targets with these IDs, or all: value, 95 % interval, verdict.

    Each is met, missed, or cannot be told; or it cannot be measured yet, with the reason. A missed
    target is a result: the exit code is 0.
    """
    from functools import partial

    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.targets.files import replace_totals, write, write_page, write_totals
    from assay.eval.studies.targets.report import list_metrics, report
    from assay.eval.studies.targets.running import measure_file
    from assay.eval.tracking.delivery import log_result
    from assay.retrievers.base import AssayError

    progress = ConsoleProgress()
    if readme and ids:
        raise AssayError(f"--readme: its totals are of all targets; leave out {', '.join(ids)}")
    if readme:
        replace_totals(readme, "")  # refuses before minutes go into measuring
    below = reports_folder() / "targets"
    results = measure_file(path, ids, below / "measured", rerun, progress)
    told = report(results)
    files = write(results, told, output or below)
    pages = [] if output else [write_page(told, below)]
    if readme:
        write_totals(readme, results)
    kept = f"the results are kept in {files[0].parent}"
    verdicts = {target.id: target.verdict for target in results.targets}
    log = partial(
        log_result,
        told,
        [*files, *pages],
        {"verdict": verdicts},
        metrics=dict(list_metrics(results)),
    )
    tracked = track(no_track, log, kept, progress)
    if as_json:
        places = {"files": [str(file) for file in files], "mlflow_run": tracked}
        print_json({**results.as_json(), **places})
        return
    print_report(told)
    print_places(report=[*pages, *files][0], mlflow_run=tracked)
