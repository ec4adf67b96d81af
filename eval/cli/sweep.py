"""`assay sweep`: every combination of settings on every collection."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_json, track_runs
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.running.runner import PointTask
    from assay.eval.studies.sweep.forecast import SweepEstimate
    from assay.eval.studies.sweep.settings import SweepSettings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@options.OVERRIDES
@options.ENGINES
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the points, what they share and how long they will take; run nothing.",
)
@click.option(
    "--keep-runs",
    is_flag=True,
    help="Store the run of every point, with its report, not that of the best alone.",
)
@options.ray
@options.NO_TRACK
@options.FULL
@options.JSON
def sweep(
    file: Path,
    overrides: tuple[str, ...],
    engines: tuple[str, ...],
    dry_run: bool,
    keep_runs: bool,
    ray: str | None,
    ray_gpus: float,
    no_track: bool,
    as_json: bool,
) -> None:
    """Run every combination of the axes of FILE on its collections.

    FILE names a config as its base, or several configs; axes, which are values by dotted key; and
    collections, without which each config runs on its own. Paths are from the folder of FILE.
    Points share chunks, vectors, term counts, indexes and the lists of legs. The figures of each
    are those of `assay run`, and are kept: what was computed before is not computed again, and
    after a kill the same call resumes. The best point of each collection is stored as a run with
    its report. Overrides change single keys of every config; dataset=NAME takes the place of the
    file's collections. An axis `engine` has names of engines, null for the config as it is, or "*"
    for every one that can be used here and to which the config can move; --engine gives or replaces
    it.

    A point that fails is reported, and the others go on. Exit code: 0 all points ran, 1 some
    failed, 2 the file cannot be run.
    """
    from assay.eval.cluster.distribution import distribute
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.sweep.forecast import forecast
    from assay.eval.studies.sweep.report import report
    from assay.eval.studies.sweep.running import list_tasks, read_sweep, run_sweep

    settings = read_sweep(file, engines, overrides)
    tasks = list_tasks(file, settings, overrides)
    resources = make_resources()
    if dry_run:
        _list(settings, tasks, forecast(tasks, resources.cache, reports_folder()), as_json)
        return
    with distribute(ray, resources.progress, ray_gpus) as pool:
        used = pool.resources if pool else resources
        found, records = run_sweep(
            settings,
            tasks,
            used,
            reports_folder(),
            keep_runs=keep_runs,
            helpers=pool,
        )
    told = report(found)
    page = write_blocks(found, told, reports_folder() / found.id)
    tracked = track_runs(no_track, records, page.parent, resources.progress)
    present(found, as_json, lambda _: print_report(told), report=page, mlflow_parent=tracked)
    if found.failed:
        sys.exit(1)


def _list(
    settings: "SweepSettings",
    tasks: "Sequence[PointTask]",
    expected: "SweepEstimate",
    as_json: bool,
) -> None:
    if as_json:
        points = [{"settings": dict(t.point), "collection": t.config.dataset} for t in tasks]
        print_json({"name": settings.name, "points": points, "forecast": expected.as_json()})
        return
    for number, task in enumerate(tasks, start=1):
        click.echo(f"{number:>4}  {task.label}")
    for line in expected.lines:
        click.echo(line)
