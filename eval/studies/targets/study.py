"""Every success criterion, measured, with a verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Report
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written
from assay.eval.running.study_options import RERUN
from assay.eval.studies.targets.files import (
    replace_totals,
    write_files,
    write_page,
    write_totals,
)
from assay.eval.studies.targets.report import list_metrics, report
from assay.eval.studies.targets.results import Results
from assay.eval.studies.targets.running import measure_file
from assay.eval.tracking.delivery import log_result
from assay.retrievers.base import AssayError


class TargetsOptions(StudyOptions):
    """Which targets of which file, and where their verdicts go."""

    ids: Annotated[tuple[str, ...], Argument("[ID]...")] = ()
    file: Annotated[Path, Option(path="file")] = Field(
        Path("configs/targets.yaml"), description="The targets."
    )
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Measure again what equal calls measured before."
    )
    output: Annotated[Path | None, Option(path="folder")] = Field(
        None,
        description="Folder of targets.md and targets.json.  [default: targets below the reports]",
    )
    readme: Annotated[Path | None, Option(path="file")] = Field(
        None, description="Replace the totals of targets in this file."
    )


def find(asked: TargetsOptions, lab: Lab) -> Results:
    """Measure the targets with these IDs, or all: value, 95 % interval, verdict.

    Each is met, missed, or cannot be told; or it cannot be measured yet, with the reason. A missed
    target is a result: the exit code is 0.
    """
    if asked.readme and asked.ids:
        ids = ", ".join(asked.ids)
        raise AssayError(f"--readme: its totals are of all targets; leave out {ids}")
    if asked.readme:
        replace_totals(asked.readme, "")  # refuses before minutes go into measuring
    kept = lab.reports / "targets" / "measured"
    return measure_file(asked.file, asked.ids, kept, asked.rerun, lab.progress)


def write(found: Results, told: Report, asked: TargetsOptions, lab: Lab) -> Written:
    """Write the verdicts, a page where no folder is named, and the totals of a README."""
    folder = asked.output or lab.reports / "targets"
    files = write_files(found, told, folder)
    pages = [] if asked.output else [write_page(told, folder)]
    if asked.readme:
        write_totals(asked.readme, found)
    every = [*pages, *files]
    return Written({"report": every[0], "files": files}, every)


def log(found: Results, files: Sequence[Path], _lab: Lab) -> str:
    """Send targets with their files; return the id of their MLflow run. Raises TrackingError."""
    verdicts = {target.id: target.verdict for target in found.targets}
    metrics = dict(list_metrics(found))
    return log_result(report(found), files, {"verdict": verdicts}, metrics=metrics)


STUDY = Study("targets", TargetsOptions, find, report, write=write, log=log)
