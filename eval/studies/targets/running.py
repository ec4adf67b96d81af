"""Measuring the targets of a file."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.studies.targets.measurer import ProjectTargetMeasurer
from assay.eval.studies.targets.measuring import measure_targets
from assay.eval.studies.targets.plan import describe_plan, describe_seconds
from assay.eval.studies.targets.results import Results
from assay.eval.studies.targets.target_settings import check, choose, load_settings
from assay.retrievers.base import Progress


def measure_file(
    path: Path, ids: Sequence[str], kept: Path, rerun: bool, progress: Progress
) -> Results:
    """Measure the targets with `ids` of the file at `path`, all where none is given.

    What equal calls measured before is found in the folder `kept`, unless `rerun`.
    Raises AssayError where the file is wrong or there is no such target.
    """
    settings = load_settings(path)
    chosen = choose(settings, ids, path)
    measurer = ProjectTargetMeasurer(settings, path.parent, kept, rerun, progress)
    check(settings, measurer, path)
    for line in describe_plan(chosen):
        progress.say(line)
    results = measure_targets(chosen, measurer, progress)
    if results.seconds:
        progress.say(describe_seconds(results.seconds))
    return results
