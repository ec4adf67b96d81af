"""What is said of passages that were lost: at which step, and what a perfect order would score."""

from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter

from assay.eval.report.blocks import Block, Cell, Column, Report, Table, Tone
from assay.eval.report.formats import count
from assay.eval.runs.summary.attribution import MEANINGS, Attribution
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.explanation.finding import Explanation

LOST = ("in no chunk", "in no leg", "not retrieved")
CEILINGS = "What a perfect order of the candidates after each step would score"


def report(found: Explanation) -> Report:
    """Return the report of where correct passages were lost."""
    attribution, run = found.attribution, found.run
    totals = {status: number for status, number in attribution.totals().items() if number}
    told = found.wrong.describe() if found.wrong else ""
    return Report(
        id="",
        kind="explanation",
        title=run.manifest.id,
        verdict=[
            f"{sum(totals.values()):,} correct passages of "
            f"{count(len(run.queries), 'query', 'queries')}, first {attribution.k} hits",
            *filter(None, [told]),
        ],
        blocks=[
            _show_totals(attribution, totals),
            *_show_types(attribution, totals),
            _show_ceilings(attribution),
            *([] if found.query is None else _show_items(found, found.query)),
        ],
    )


def _show_totals(attribution: Attribution, totals: Mapping[str, int]) -> Table:
    whole = sum(totals.values())
    columns = [
        Column("status", "Status", value=itemgetter(0), tone=_colour),
        Column("passages", "Passages", "count", itemgetter(1)),
        Column("share", "Share", "share", lambda row: row[1] / whole),
        Column("causes", "Stage or leg", value=partial(_list_causes, attribution)),
        Column("meaning", "Meaning", value=lambda row: MEANINGS[row[0]].format(k=attribution.k)),
    ]
    return Table("statuses", "Where correct passages were lost", columns, [*totals.items()])


def _colour(row: tuple[str, int]) -> Tone:
    return "better" if row[0] == "found" else "worse" if row[0] in LOST else ""


def _list_causes(attribution: Attribution, row: tuple[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in attribution.causes(row[0]).items())


def _show_types(attribution: Attribution, totals: Mapping[str, int]) -> Iterator[Block]:
    if attribution.by_type and totals:
        columns = [
            Column("type", "Type of query", value=itemgetter(0)),
            *(Column(i.replace(" ", "_"), i, "count", partial(_find_number, i)) for i in totals),
        ]
        yield Table("types", "By type of query", columns, [*attribution.by_type.items()])


def _find_number(status: str, row: tuple[str, Mapping[str, int]]) -> Cell:
    return row[1][status] or None


def _show_ceilings(attribution: Attribution) -> Table:
    rows = [(item.step, item.candidates, item.measures) for item in attribution.ceilings]
    columns = [
        Column("step", "After", value=itemgetter(0)),
        Column("candidates", "Candidates", "amount", itemgetter(1)),
        *(Column(name, name, "score", partial(_find_mean, name)) for name in attribution.reached),
    ]
    return Table("ceilings", CEILINGS, columns, [*rows, ("actual", None, attribution.reached)])


def _find_mean(name: str, row: tuple[str, float | None, Mapping[str, Estimate]]) -> Cell:
    return row[2].get(name)


def _show_items(found: Explanation, query: str) -> Iterator[Block]:
    """Yield each correct passage of a query, and at which step it was lost."""
    columns = [
        Column("item", "Passage", value=lambda item: item.item.id),
        Column("grade", "Grade", "count", lambda item: item.item.grade),
        Column("words", "Status"),
        Column("trail", "Ranks"),
        Column("excerpt", "Text", value=found.excerpt),
    ]
    title = f"{query}: {found.run.queries[query].text}"
    yield Table("query", title, columns, found.attribution.items[query])
