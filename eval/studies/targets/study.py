"""A study that measures every success criterion and gives a verdict on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Report
from assay.eval.report.files import write_beside
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written
from assay.eval.running.study_options import RERUN
from assay.eval.studies.targets.report import list_metrics, report
from assay.eval.studies.targets.results import Results
from assay.eval.studies.targets.running import measure_file
from assay.eval.tracking.delivery import log_result


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
        description="Folder of targets.md, .html and .json.  [default: targets below the reports]",
    )


def find(asked: TargetsOptions, lab: Lab) -> Results:
    """Measure the targets with these IDs, or all: value, 95 % interval, verdict.

    Each is met, missed, or cannot be told; or it cannot be measured yet, with the reason. A missed
    target is a result: the exit code is 0.
    """
    kept = lab.reports / "targets" / "measured"
    return measure_file(asked.file, asked.ids, kept, asked.rerun, lab.progress)


def write(found: Results, told: Report, asked: TargetsOptions, lab: Lab) -> Written:
    """Write the verdicts into one folder, the same for any choice of targets."""
    place = (asked.output or lab.reports / "targets") / "targets"
    facts, page, text = files = write_beside(found, told, place)
    return Written({"report": page, "files": [text, facts]}, files)


def log(found: Results, files: Sequence[Path], _lab: Lab) -> str:
    """Send targets with their files to MLflow; return the run's id. Raises TrackingError."""
    verdicts = {target.id: target.verdict for target in found.targets}
    metrics = dict(list_metrics(found))
    return log_result(report(found), files, {"verdict": verdicts}, metrics=metrics)


STUDY = Study("targets", TargetsOptions, find, report, write=write, log=log)
