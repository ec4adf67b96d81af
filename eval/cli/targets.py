"""`assay targets`: every success criterion, measured, with a verdict."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, print_json, print_places, print_table, track

if TYPE_CHECKING:
    from assay.eval.studies.targets.results import Results
    from assay.eval.studies.targets.verdict import Verdict

STYLES: "dict[Verdict | None, str]" = {
    None: "",
    "met": "green",
    "missed": "bold red",
    "cannot tell": "yellow",
    "not measurable yet": "dim",
}


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
    from assay.eval.studies.targets.measurer import ProjectTargetMeasurer
    from assay.eval.studies.targets.measuring import measure_targets
    from assay.eval.studies.targets.output import (
        describe_seconds,
        log_targets,
        replace_totals,
        write,
        write_totals,
    )
    from assay.eval.studies.targets.plan import describe_plan
    from assay.eval.studies.targets.target_settings import check, choose, load_settings
    from assay.retrievers.base import AssayError

    progress = ConsoleProgress()
    settings = load_settings(path)
    chosen = choose(settings, ids, path)
    if readme and ids:
        raise AssayError(f"--readme: its totals are of all targets; leave out {', '.join(ids)}")
    if readme:
        replace_totals(readme, "")  # refuses before minutes go into measuring
    below = reports_folder() / "targets"
    measurer = ProjectTargetMeasurer(settings, path.parent, below / "measured", rerun, progress)
    check(settings, measurer, path)
    for line in describe_plan(chosen):
        progress.say(line)
    results = measure_targets(chosen, measurer, progress)
    if results.seconds:
        progress.say(describe_seconds(results.seconds))
    files = write(results, output or below)
    if readme:
        write_totals(readme, results)
    kept = f"the results are kept in {files[0].parent}"
    tracked = track(no_track, partial(log_targets, results, files), kept, progress)
    if as_json:
        places = {"files": [str(file) for file in files], "mlflow_run": tracked}
        print_json({**results.as_json(), **places})
        return
    _print(results)
    print_places(report=files[0], mlflow_run=tracked)


def _print(results: "Results") -> None:
    from rich.markup import escape
    from rich.table import Table

    from assay.eval.studies.targets.output import HEADINGS, RULE, make_rows

    console = make_console()
    table = Table(box=None, pad_edge=False)
    for name in HEADINGS:
        narrow = name in ("id", "n", "verdict")
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=narrow)
    for target in results.targets:
        for line, row in zip(target.lines, make_rows(target), strict=True):
            *cells, verdict = map(escape, row)
            style = STYLES[line.verdict]
            table.add_row(*cells, f"[{style}]{verdict}[/]" if style else verdict)
    print_table(console, table)
    for target in results.targets:
        for line in target.lines:
            note = line.found.note if line.found and line.verdict == "missed" else ""
            if why := line.reason or note:
                what = f"{target.id} {line.label}".strip()
                console.print(f"{what}: {why}", markup=False)
    console.print(f"[dim]{escape(RULE)}[/]")
    for kind, ids in results.count().items():
        if ids:
            console.print(f"[{STYLES[kind]}]{len(ids)} {kind}[/]: {', '.join(ids)}")
