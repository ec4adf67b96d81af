"""The report of lost passages: the step of each, and the score of a perfect order."""

from collections.abc import Iterator

from assay.eval.report.blocks import Block, Column, Report, Table, Tone
from assay.eval.report.formats import count
from assay.eval.report.run_page.attribution import LOST, tabulate_attribution
from assay.eval.runs.summary.attribution import ItemStatus
from assay.eval.studies.explanation.finding import Explanation


def report(found: Explanation) -> Report:
    """Return the report of the steps at which correct passages were lost."""
    attribution, run = found.attribution, found.run
    passages = sum(attribution.totals().values())
    told = found.wrong.describe() if found.wrong else ""
    return Report(
        id="",
        kind="explanation",
        title=run.manifest.id,
        verdict=[
            f"{passages:,} correct passages of "
            f"{count(len(run.queries), 'query', 'queries')}, first {attribution.k} hits",
            *filter(None, [told]),
        ],
        blocks=[
            *([] if found.query is None else _show_items(found, found.query)),
            *tabulate_attribution(attribution, brief=found.query is None),
        ],
    )


def _show_items(found: Explanation, query: str) -> Iterator[Block]:
    """Yield a table of the correct passages of a query, with the step at which each was lost."""
    columns = [
        Column("item", "Passage", value=lambda item: item.item.id),
        Column("grade", "Grade", "count", lambda item: item.item.grade),
        Column("words", "Status", tone=_colour),
        Column("trail", "Ranks"),
        Column("excerpt", "Text", value=found.excerpt),
    ]
    title = f"{query}: {found.run.queries[query].text}"
    yield Table("query", title, columns, found.attribution.items[query])


def _colour(item: ItemStatus) -> Tone:
    return "better" if item.status == "found" else "worse" if item.status in LOST else ""
