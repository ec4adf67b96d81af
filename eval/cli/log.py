"""`assay log`: stored runs to the tracking store."""

from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions
from assay.eval.running.study_options import RERUN

if TYPE_CHECKING:
    pass


class LogOptions(StudyOptions):
    """The stored runs that are sent."""

    runs: Annotated[tuple[str, ...], Argument()] = Field(min_length=1)
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Send a run again that the store already has."
    )


@click.command()
@takes(LogOptions)
@options.prints(runs=["eval.tracking.delivery:LoggedRun"])
def log(asked: LogOptions, as_json: bool) -> None:
    """Send stored RUNS to MLflow, as after tracking was down, or to another store.

    Each of RUNS is the id of a run, the beginning of one, or its folder. The store is
    $MLFLOW_TRACKING_URI, or mlflow.db in this folder.
    """
    from assay.eval import tracking
    from assay.eval.configs.locations import reports_folder
    from assay.eval.running.run import export_summary
    from assay.eval.runs.stored import find, load

    folders = {find(reports_folder(), reference).resolve() for reference in asked.runs}
    summaries = [export_summary(load(folder)) for folder in sorted(folders)]
    logged = tracking.log(summaries, asked.rerun)
    if as_json:
        print_json({"runs": logged})
        return
    for entry in logged:
        place = f"{entry.tracking_uri}, experiment {entry.experiment}, as {entry.run_id}"
        done = f"sent to {place}" if entry.fresh else f"already in {place}; --rerun sends it again"
        click.echo(f"{entry.run}: {done}")
