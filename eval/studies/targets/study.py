"""A study that measures every success criterion and gives a verdict on it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Block, Cell, Column, Facts, Format, Prose, Report, Table, Tone
from assay.eval.report.files import write_beside
from assay.eval.report.formats import count
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written
from assay.eval.running.study_options import RERUN
from assay.eval.runs import environment
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Limits, Unit, Verdict
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult
from assay.eval.studies.targets.settings import Measurement, check, choose, load_settings
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Progress


class TargetsOptions(StudyOptions):
    """The targets of a file to measure, and the files of their verdicts."""

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

    Each is met, missed or open; or it cannot be measured yet, with the reason. A missed
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


FORMATS: Mapping[Unit, Format] = {
    "score": "score",
    "ratio": "score",
    "difference": "difference",
    "change": "relative",
    "share": "share",
    "ms": "milliseconds",
    "s": "seconds",
    "count": "count",
}
TONES: Mapping[Verdict, Tone] = {"met": "better", "missed": "worse"}
# Only web addresses and relative paths may be links: a colon elsewhere could start a script.
LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://)?[^)\s:]+)\)")
PURPOSE = (
    "The criteria of the targets file, what was measured for each, and the verdict. A call of "
    "assay targets measures them again; targets.json has the runs, both values of each change, "
    "and where passages were lost."
)
RULE = (
    "Met: the whole 95 % interval lies within the target; missed: the whole interval lies outside; "
    "else the measurement cannot tell. Intervals: Student's for means, exact binomial for scores "
    "of 0 or 1 and for percentiles, paired percentile bootstrap for relative changes and ratios; "
    "counts have none. An alert, or a page, is a value beyond that level."
)


Row = tuple[TargetResult, Line]


def report(results: Results) -> Report:
    """Return the report of measured targets."""
    rows = [(target, line) for target in results.targets for line in target.lines]
    return Report(
        id=results.id,
        kind="targets",
        title="Success criteria",
        description=PURPOSE,
        subject=(count(len(results.targets), "target"), results.created[:10]),
        verdict=list(list_totals(results)),
        blocks=[
            _show_lines(rows),
            *_show_reasons(rows),
            *_show_remarks(results),
            Prose("How it is judged", RULE, brief=True),
            Facts("What was measured", list(_describe(results)), brief=False),
        ],
        environment=results.environment,
    )


def list_totals(results: Results) -> Iterator[str]:
    """Yield the number of targets by verdict, with their ids unless several are met."""
    for verdict, ids in results.count().items():
        if ids:
            told = "" if verdict == "met" and len(ids) > 1 else f": {', '.join(ids)}"
            yield f"{len(ids)} {verdict}{told}"


def list_metrics(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each value by its name in MLflow, with its interval, and the number of each verdict."""
    for target in results.targets:
        for line in target.lines:
            if line.found:
                name = metric_name(f"target/{target.id} {line.label}".strip())
                yield from with_interval(name, line.found.estimate).items()
    for verdict, ids in results.count().items():
        yield metric_name(f"targets/{verdict}"), len(ids)


def _show_lines(rows: list[Row]) -> Table:
    columns = [
        Column("id", "id", value=lambda row: row[0].id),
        Column("criterion", "criterion", value=_name),
        Column("wanted", "target", value=lambda row: row[1].wanted.replace(" -", " −")),
        Column("found", "measured (95 % interval)", _find_format, _find_value),
        Column("n", "n", "count", lambda row: row[1].found.estimate.n if row[1].found else None),
        Column("unit", "kind", value=lambda row: row[1].found.unit if row[1].found else "",
               brief=False),
        Column("verdict", "verdict",
               value=lambda row: ", ".join(filter(None, (row[1].verdict, row[1].level))),
               tone=lambda row: TONES.get(row[1].verdict, "")),
    ]  # fmt: skip
    return Table("targets", "Targets", columns, rows)


def _name(row: Row) -> str:
    """Return the label of a line; the first line of a target has its criterion too."""
    target, line = row
    about = target.criterion if line is target.lines[0] else ""
    return ": ".join(filter(None, (about, line.label)))


def _find_format(row: Row) -> Format:
    return FORMATS[row[1].found.unit] if row[1].found else "score"


def _find_value(row: Row) -> Cell:
    """Return the estimate, or its value if the interval has no width; None if not measured."""
    if row[1].found is None:
        return None
    estimate = row[1].found.estimate
    counted = estimate.low is not None and estimate.low == estimate.high
    return estimate.value if counted else estimate


def _show_reasons(rows: list[Row]) -> Iterator[Block]:
    """Yield the reasons why values could not be measured, and notes on missed targets."""
    told = []
    for target, line in rows:
        note = line.found.note if line.found and line.verdict == "missed" else ""
        if why := line.reason or note:
            told.append((f"{target.id} {line.label}".strip(), why))
    if told:
        yield Facts("What is known of those not met", told)


def _show_remarks(results: Results) -> Iterator[Block]:
    """Yield the remarks on verdicts; links are in columns next to the text, a row per link."""
    rows = []
    for target in results.targets:
        if target.remark:
            links = LINK.findall(target.remark) or [("", "")]
            text = LINK.sub(r"\1", target.remark)
            rows += [(target.id, "" if i else text, *link) for i, link in enumerate(links)]
    columns = [
        Column("id", "id", value=itemgetter(0)),
        Column("remark", "why", value=itemgetter(1)),
        Column("see", "see", value=itemgetter(2), link=itemgetter(3)),
    ]
    if rows:
        yield Table("remarks", "Why", columns, rows, brief=False)


def _describe(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the measurements of each target: each measure once, with all its collections."""
    for target in results.targets:
        places: dict[str, dict[str, None]] = {}
        for line in target.lines:
            what, _, place = line.description.partition(" on ")
            places.setdefault(what.removesuffix(","), {})[place] = None
        told = [
            " on ".join(filter(None, (what, ", ".join(on)))) for what, on in places.items() if what
        ]
        if told:
            yield target.id, "; ".join(told)


STUDY = Study(
    "targets", TargetsOptions, find, report, write=write, places=("report", "files"), log=log
)


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
