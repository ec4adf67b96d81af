"""Miss analysis as tables: at which step correct passages were lost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from assay.eval.report.blocks import Cell, Column, Plot, Table, Tone
from assay.eval.report.formats import percent
from assay.eval.runs.summary.attribution import MEANINGS, Attribution
from assay.eval.runs.summary.candidate_lists import FINAL
from assay.eval.runs.summary.ceilings import UNION
from assay.eval.statistics.estimates import Estimate

NAMES = {UNION: "all legs together", FINAL: "final hits"}
LOST = ("in no chunk", "in no leg", "not retrieved")
STATUSES = "Where correct passages were lost"
CEILINGS = "What a perfect order of the candidates after each step would score"
SHARES = (
    "Shares are of correct passages. Recall is a mean over queries: there, a query with many "
    "correct passages weighs as much as one with few."
)
Reached = Mapping[str, Estimate]


@dataclass(frozen=True)
class Segment:
    """The items of one status in a stacked bar; `start` and `width` are in percent of the bar."""

    status: str
    style: str
    items: int
    share: str
    start: float
    width: float


def stack(totals: Mapping[str, int]) -> tuple[Segment, ...]:
    """Return the segments of a bar that stacks the items of each status."""
    whole = sum(totals.values())
    segments = []
    before = 0
    for status, items in totals.items():
        segments.append(
            Segment(
                status=status,
                style=name_style(status),
                items=items,
                share=percent(items / whole),
                start=round(100 * before / whole, 3),
                width=round(100 * items / whole, 3),
            )
        )
        before += items
    return tuple(segments)


def name_style(status: str) -> str:
    """Return the class by which the style sheet colours a status."""
    return f"status-{status.replace(' ', '-')}"


def tabulate_attribution(attribution: Attribution, *, brief: bool = True) -> Iterator[Table]:
    """Yield the statuses, those by type of query, and the ceilings of each step.

    There are statuses only where something is judged relevant, and of them those that occur.
    """
    totals = {status: number for status, number in attribution.totals().items() if number}
    if totals:
        yield _tabulate_statuses(attribution, totals, brief)
        if attribution.by_type:
            columns = [
                Column("type", "Type of query", value=itemgetter(0)),
                *(Column(i.replace(" ", "_"), i, "count", partial(_count, i)) for i in totals),
            ]
            rows = list(attribution.by_type.items())
            yield Table("types", "Correct passages by type of query", columns, rows, brief=brief)
    yield _tabulate_ceilings(attribution, brief)


def _tabulate_statuses(attribution: Attribution, totals: Mapping[str, int], brief: bool) -> Table:
    whole = sum(totals.values())
    columns = [
        Column("status", "Status", value=itemgetter(0), tone=_colour),
        Column("passages", "Passages", "count", itemgetter(1)),
        Column("share", "Share", "share", lambda row: row[1] / whole),
        Column("causes", "Stage or leg", value=partial(_list_causes, attribution)),
        Column("meaning", "Meaning", value=lambda row: MEANINGS[row[0]].format(k=attribution.k)),
    ]
    return Table(
        "statuses",
        STATUSES,
        columns,
        list(totals.items()),
        SHARES,
        plot=Plot("passages", "bar"),
        brief=brief,
    )


def _colour(row: tuple[str, int]) -> Tone:
    return "better" if row[0] == "found" else "worse" if row[0] in LOST else ""


def _list_causes(attribution: Attribution, row: tuple[str, int]) -> str:
    most = sorted(attribution.causes(row[0]).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {number:,}" for name, number in most)


def _count(status: str, row: tuple[str, Mapping[str, int]]) -> Cell:
    return row[1][status] or None


def _tabulate_ceilings(attribution: Attribution, brief: bool) -> Table:
    rows: list[tuple[str, float | None, Reached]] = [
        (NAMES.get(item.step, item.step), item.candidates, item.measures)
        for item in attribution.ceilings
    ]
    names = list(attribution.reached)
    columns = [
        Column("step", "After", value=itemgetter(0)),
        Column("candidates", "Candidates", "amount", itemgetter(1)),
        *(Column(name, name, "score", partial(_find_mean, name)) for name in names),
    ]
    return Table(
        "ceilings",
        CEILINGS,
        columns,
        [*rows, ("actual", None, attribution.reached)],
        note="No later step can exceed the ceiling of an earlier one. Candidates are a mean over "
        "queries.",
        plot=Plot(names[0], "share") if names else None,
        brief=brief,
    )


def _find_mean(name: str, row: tuple[str, float | None, Reached]) -> Cell:
    return row[2].get(name)
