"""The report of a tuning: the cross-validated gain of its choice, and the points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.report.blocks import Column, Facts, Plot, Prose, Report, Table
from assay.eval.report.formats import count, interval, signed
from assay.eval.running.search_space import describe, label
from assay.eval.runs.config_keys import shorten
from assay.eval.statistics.estimates import OpenEstimate
from assay.eval.studies.tuning.nested_cv import FEWEST_MOVED, TuningResult

METHOD = (
    "In each fold the point that is best on the other folds is scored on the queries left out: "
    "that is the cross-validated gain. Its interval comes from making the whole choice again on "
    "resampled queries. The gain of the best point on the queries it was chosen by looks better "
    "than it is, so it has no interval. The other intervals at 95 % are of means over queries."
)
SPACE = "Values tried"


@dataclass(frozen=True)
class GainRow:
    """A row of the table of gains: mean, gain and p-value."""

    name: str
    mean: OpenEstimate | float
    gain: OpenEstimate | None
    p: float | None


def report(
    tuning: TuningResult,
    config: str,
    collection: str,
    space: Sequence[str],
    environment: Mapping[str, Any],
    id_: str,
) -> Report:
    """Return the report of a tuning of `config`; `space` are lines that list the values tried."""
    best = None if tuning.best is None else tuning.points[tuning.best]
    points = Table(
        "points",
        "Points, best first",
        [
            Column("point", "Settings", value=lambda item: label(item.settings)),
            Column("mean", f"Mean {tuning.measure}", "score"),
            Column("gain", "Gain, not cross-validated", "difference"),
            Column("chosen", "Chosen", "count"),
            Column("best", "", value=lambda item: "best" if item is best else ""),
        ],
        sorted(tuning.points, key=lambda item: -item.mean),
        plot=Plot("gain"),
        most=10,
    )
    return Report(
        id=id_,
        kind="tuning",
        title=config,
        subject=(
            f"on {collection}",
            count(tuning.queries, "query", "queries"),
            count(len(tuning.points), "point"),
        ),
        verdict=[describe_gain(tuning), tuning.claims.sentence],
        blocks=[
            _show_gains(tuning),
            Facts("How sure that is", [("", line) for line in explain(tuning)]),
            points,
            Facts(SPACE, [("", line) for line in space]),
            Prose("Cross-validation", METHOD),
        ],
        environment=environment,
    )


def _show_gains(tuning: TuningResult) -> Table:
    given = tuning.given
    rows = [
        GainRow("as given", given, None, None),
        *(
            GainRow(name, given.value + gain.value, gain, p)
            for name, gain, p in (
                ("best, on the queries it was chosen by", tuning.naive, None),
                ("best, cross-validated", tuning.held_out, tuning.p),
            )
        ),
    ]
    columns = [
        Column("name", ""),
        Column("mean", tuning.measure, "score"),
        Column("gain", "Gain", "difference"),
        Column("p", "p", "p"),
    ]
    return Table("gains", "What it gains", columns, rows, plot=Plot("gain"))


def describe_gain(tuning: TuningResult) -> str:
    """Describe the gain of tuning in one sentence."""
    if tuning.best is None:
        return f"no point is better in {tuning.measure} than the config as given"
    found = tuning.held_out
    likely = f", likely between {interval(found, signed, ' and ')}" if found.low is not None else ""
    return (
        f"{tuning.verdict}: {signed(found.value)} in {tuning.measure} on questions that had no "
        f"part in the choice{likely}; {signed(tuning.naive.value)} on those it was made by"
    )


def explain(tuning: TuningResult) -> list[str]:
    """Return lines on the cross-validation, and on how often points were chosen."""
    chosen = sorted(tuning.points, key=lambda item: -item.chosen)[:5]
    parts = [f"{label(item.settings)}: {item.chosen}" for item in chosen if item.chosen]
    if tuning.kept:
        parts.append(f"as given: {tuning.kept}")
    design = tuning.design
    groups = "" if tuning.groups == tuning.queries else f" in {tuning.groups} groups"
    lines = [
        f"cross-validation: {design.folds} folds, {design.repeats} times{groups}, seed "
        f"{design.seed}; p by randomisation of the whole choice, one-sided",
        f"chosen, of {tuning.choices} times: {'; '.join(parts)}",
    ]
    if tuning.held_out.low is None:
        lines.append(
            f"fewer than {FEWEST_MOVED} queries gained or lost in cross-validation: too few "
            "for an interval, and to show a gain"
        )
    elif tuning.verdict == "worth taking" and tuning.held_out.low <= 0:
        lines.append("the interval reaches 0: the test shows a gain, which may be small")
    if ends := _find_ends(tuning):
        lines.append(f"at an end of its axis, beyond which there may be better: {', '.join(ends)}")
    return lines


def _find_ends(tuning: TuningResult) -> list[str]:
    """Return the numeric settings of the best point at an end of the values tried."""
    if tuning.best is None:
        return []
    best = tuning.points[tuning.best].settings
    names = shorten(best)
    ends = []
    for key, value in best.items():
        tried = [item.settings[key] for item in tuning.points if key in item.settings]
        numbers = {item for item in tried if isinstance(item, (int, float))}
        if len(numbers) > 2 and value in (min(numbers), max(numbers)):
            ends.append(f"{names[key]} {describe(value)}")
    return ends
