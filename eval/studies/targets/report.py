"""What measuring targets says: the verdict on each, and what was measured for it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.eval.report.blocks import Block, Cell, Column, Facts, Format, Prose, Report, Table, Tone
from assay.eval.report.formats import count
from assay.eval.studies.targets.results import Line, Results, TargetResult, Unit
from assay.eval.studies.targets.verdict import Verdict

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
# No colon within an address: it leads to a place on the web or beside the page, and runs nothing.
LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://)?[^)\s:]+)\)")
PURPOSE = (
    "The criteria of the targets file, what was measured for each, and the verdict. A call of "
    "assay targets measures them again; targets.json has the runs, both values of each change, "
    "where passages were lost, and the seconds."
)
RULE = (
    "Met: the whole 95 % interval lies within the target; missed: the whole interval lies outside; "
    "else the measurement cannot tell. Intervals: Student's for means, exact binomial for scores "
    "of 0 or 1 and for percentiles, paired percentile bootstrap for relative changes and ratios; "
    "counts have none. An alert, or a page, is a value beyond that level."
)


@dataclass(frozen=True)
class TargetRow:
    """A line of a target; the `first` of them says what the target is about."""

    target: TargetResult
    line: Line
    first: bool

    @property
    def id(self) -> str:
        """The id of its target."""
        return self.target.id

    @property
    def criterion(self) -> str:
        """What is measured, in words."""
        about = self.target.criterion if self.first else ""
        return ": ".join(filter(None, (about, self.line.label)))

    @property
    def found(self) -> Cell:
        """The measured value: an estimate where its interval has a width; None without."""
        if self.line.found is None:
            return None
        estimate = self.line.found.estimate
        counted = estimate.low is not None and estimate.low == estimate.high
        return estimate.value if counted else estimate

    @property
    def format(self) -> Format:
        """How its value is printed."""
        return FORMATS[self.line.found.unit] if self.line.found else "score"

    @property
    def verdict(self) -> str:
        """The verdict on it, with the level that it reaches."""
        return ", ".join(filter(None, (self.line.verdict, self.line.level)))

    @property
    def why(self) -> str:
        """Why it could not be measured, or what is known of a value that missed; else ""."""
        note = self.line.found.note if self.line.found and self.line.verdict == "missed" else ""
        return self.line.reason or note


@dataclass(frozen=True)
class RemarkRow:
    """What explains the verdict on a target, and where more stands of it: a name and an address."""

    id: str
    remark: str
    name: str
    address: str


def report(results: Results) -> Report:
    """Return the report of measured targets."""
    rows = [
        TargetRow(target, line, not i)
        for target in results.targets
        for i, line in enumerate(target.lines)
    ]
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
    """Yield how many targets have each verdict, and which: of those that are met the number."""
    for verdict, ids in results.count().items():
        if ids:
            told = "" if verdict == "met" and len(ids) > 1 else f": {', '.join(ids)}"
            yield f"{len(ids)} {verdict}{told}"


def _show_lines(rows: list[TargetRow]) -> Table:
    columns = [
        Column("id", "id"),
        Column("criterion", "criterion"),
        Column("wanted", "target", value=lambda row: row.line.wanted.replace(" -", " −")),
        Column("found", "measured (95 % interval)", lambda row: row.format),
        Column(
            "n", "n", "count", lambda row: row.line.found.estimate.n if row.line.found else None
        ),
        Column("unit", "kind", value=_name_unit, brief=False),
        Column("verdict", "verdict", tone=lambda row: TONES.get(row.line.verdict, "")),
    ]
    return Table("targets", "Targets", columns, rows)


def _name_unit(row: TargetRow) -> str:
    return row.line.found.unit if row.line.found else ""


def _show_reasons(rows: list[TargetRow]) -> Iterator[Block]:
    if told := [(f"{row.id} {row.line.label}".strip(), row.why) for row in rows if row.why]:
        yield Facts("What is known of those not met", told)


def _show_remarks(results: Results) -> Iterator[Block]:
    """Yield what explains verdicts; links stand beside their text, a row each."""
    rows = []
    for target in results.targets:
        if target.remark:
            links = LINK.findall(target.remark) or [("", "")]
            text = LINK.sub(r"\1", target.remark)
            rows += [RemarkRow(target.id, "" if i else text, *link) for i, link in enumerate(links)]
    columns = [
        Column("id", "id"),
        Column("remark", "why"),
        Column("see", "see", value=lambda row: row.name, link=lambda row: row.address),
    ]
    if rows:
        yield Table("remarks", "Why", columns, rows, brief=False)


def _describe(results: Results) -> Iterator[tuple[str, str]]:
    """Yield what was measured for each target: each measure once, with all its collections."""
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
