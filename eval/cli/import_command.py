"""`assay import`: rankings made elsewhere become stored runs."""

from pathlib import Path

import click

from eval.cli import options
from eval.cli.output import print_json


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dataset", required=True, help="The collection it was searched on.")
@click.option("--name", help="What to call the run; with several systems, the beginning of it.")
@click.option("--depth", type=click.IntRange(1), default=100, show_default=True)
@options.NO_TRACK
@options.JSON
def import_(
    file: Path, dataset: str, name: str | None, depth: int, no_track: bool, as_json: bool
) -> None:
    """Judge FILE, rankings made elsewhere, and store a run for each system in it.

    FILE is a TREC run, or JSON Lines with query_id, ranking and, if you like, system. The runs can
    then be compared, reported and gated like any other; latency they have none.
    """
    from eval import report
    from eval.analysis.exports import export
    from eval.analysis.summary import summarise
    from eval.cli.table import print_summary
    from eval.collections.loading import load
    from eval.experiments.locations import reports_folder
    from eval.experiments.run import track
    from eval.progress import ConsoleProgress
    from eval.runs.execution import Plan, execute
    from eval.runs.latency import LatencySettings
    from eval.runs.replay import Replay, read_run_file

    progress = ConsoleProgress()
    runs = read_run_file(file)
    collection = load(dataset)
    replays = {system: Replay(runs, system, collection) for system in runs.systems}
    printed = []
    for system, replay in replays.items():
        label = _label(name, system, len(replays) > 1)
        config = {"name": label, "dataset": dataset, "imported": {"file": file.name, "tag": system}}
        plan = Plan(label, config, depth, None, LatencySettings(queries=0))
        outcome = execute(plan, replay, collection, reports_folder(), progress)
        summary = summarise(outcome.run)
        export(summary)
        page = report.write(summary)
        tracked = None if no_track else track(summary, progress)
        printed.append({**summary.as_json(), "report": str(page), "mlflow_run": tracked})
        if not as_json:
            print_summary(summary, page, tracked, reused=outcome.reused)
    if as_json:
        print_json({"runs": printed})


def _label(name: str | None, system: str, several: bool) -> str:
    """Return what a run is called, in characters that a folder's name may have."""
    label = "-".join(part for part in (name, system if several or not name else "") if part)
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in label)
