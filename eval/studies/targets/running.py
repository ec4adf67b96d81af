"""Measure the targets of a file, each by itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from assay.eval.runs import environment
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Limits
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult
from assay.eval.studies.targets.settings import Measurement, check, choose, load_settings
from assay.retrievers.base import AssayError, Progress

# Fields that a measured value does not depend on.
NOT_MEASURED = {"label", *Limits.model_fields}


def measure_file(
    path: Path, ids: Sequence[str], kept: Path, rerun: bool, progress: Progress
) -> Results:
    """Measure the targets with `ids` of the file at `path`, all if none is given.

    Results of earlier equal calls are read from the folder `kept`, unless `rerun`. If one target
    cannot be measured, the others still are. Raises AssayError if the file is wrong or there is no
    such target.
    """
    settings = load_settings(path)
    chosen = choose(settings, ids, path)
    lab = TargetLab(settings.pipelines, path.parent, kept, rerun, progress)
    check(settings, lab, path)
    measured = []
    for name, target in chosen.items():
        lines = []
        for measurement in target.measurements:
            progress.say(f"{name}: {measurement.describe()}")
            lines.append(_measure(measurement, lab))
        if target.reason:
            lines.append(Line("", "", target.as_written, None, "not measurable yet", target.reason))
        wording = (target.criterion, target.as_written)
        measured.append(TargetResult(name, *wording, tuple(lines), target.remark))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Results(now, environment.describe(), tuple(measured))


def _measure(wanted: Measurement, lab: TargetLab) -> Line:
    label, description = wanted.label, wanted.describe()
    limits = wanted.describe_limits(wanted.unit)
    try:
        found = _remember(wanted, lab) if wanted.experiment else wanted.find(lab)
    except AssayError as error:
        reason = str(error).partition("\n")[0]
        return Line(label, description, limits, None, "not measurable yet", reason)
    verdict = wanted.judge(found.estimate) if wanted.bounds else None
    level = wanted.reach(found.estimate.value)
    return Line(label, description, limits, found, verdict, level=level)


def _remember(wanted: Measurement, lab: TargetLab) -> MeasuredValue:
    """Return the result of an experiment, the stored one if nothing it depends on has changed."""
    configs = [lab.config(name, wanted.dataset) for name in wanted.pipelines.values()]
    asked = [wanted.model_dump(exclude=NOT_MEASURED), configs]
    return lab.remember(asked, wanted.dataset, lambda: wanted.find(lab))
