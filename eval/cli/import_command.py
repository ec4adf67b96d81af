"""`assay import`: rankings made elsewhere become stored runs."""

from pathlib import Path
from typing import Annotated, Literal

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import describe, print_json, print_places
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions
from assay.eval.running.study_options import LARGEST, MEASURES, RERUN, Names


class ImportOptions(StudyOptions):
    """The options of `assay import`: what to judge, on what, and how."""

    file: Annotated[Path, Argument()]
    dataset: str = Field(description="The collection it was searched on.")
    name: str | None = Field(
        None, description="What to call the run; with several systems, the beginning of it."
    )
    depth: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description="Hits judged of each query.  [default: 100, or as many as the deepest measure "
        "looks at]",
    )
    missing: Literal["fail", "zero", "drop"] = Field(
        "fail",
        description="Queries without a ranking: refuse them, score them 0, or leave them out.",
    )
    ties: Literal["ranks", "ids"] = Field(
        "ranks",
        description="What decides where scores of a TREC run are equal: its ranks, then its lines, "
        "or ids, as trec_eval does, of scores in single precision.",
    )
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Judge again though an equal run is stored."
    )
    measures: Annotated[Names, MEASURES] = Field(
        (), description="What to judge it by, separated by commas.  [default: as a run]"
    )
    no_report: bool = Field(False, description="Write no report, and log nothing to MLflow.")


@click.command("import")
@takes(ImportOptions)
@options.NO_TRACK
@options.FULL
@options.prints(runs=[options.RUN])
def import_(asked: ImportOptions, no_track: bool, as_json: bool) -> None:
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
    from assay.eval.scoring.measures import choose_depth

    wanted = asked.measures
    kept = choose_depth(wanted, DEPTH, asked.depth)
    progress = ConsoleProgress()
    printed = []
    told = (asked.name, kept, asked.missing, asked.ties, asked.rerun, progress)
    for outcome in import_runs(asked.file, asked.dataset, *told):
        if asked.no_report:
            summary, page = export_summary(outcome.run, wanted), None
        else:
            summary, page = write_report(outcome.run, wanted)
        tracked = None if no_track or asked.no_report else track(summary, progress)
        shown = {"report": page and str(page), "mlflow_run": tracked}
        printed.append({**describe(summary), **shown})
        if not as_json:
            print_summary(summary, outcome.reused)
            print_places(report=page, mlflow_run=tracked)
    if as_json:
        print_json({"runs": printed})
