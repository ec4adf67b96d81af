"""`assay explain`: at which step of a run correct passages were lost."""

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    print_json,
    print_next,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from rich.table import Table

    from assay.eval.runs.stored import StoredRun
    from assay.eval.runs.summary.attribution import Attribution, ItemStatus

EXCERPT = 300  # characters of a gold item
STYLES = {"found": "green", "in no chunk": "red", "in no leg": "red", "not retrieved": "red"}


@click.command()
@options.RUN
@options.OVERRIDES
@options.dataset("overrides")
@click.option("--query", help="The id of a query: show each of its correct passages.")
@click.option(
    "-k", default=10, type=options.at_least(1), help="How many hits count.", show_default=True
)
@options.JSON
def explain(run: str, overrides: tuple[str, ...], query: str | None, k: int, as_json: bool) -> None:
    """Show at which step correct passages were lost.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, its folder, or the id of a run in MLflow. A stored run is not searched again.
    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run_references import resolve
    from assay.eval.runs.summary.attribution import attribute
    from assay.eval.runs.summary.wrong_documents import find_wrong_documents
    from assay.retrievers.base import AssayError

    stored = resolve(run, overrides, ConsoleProgress())
    if query is not None and query not in stored.queries:
        some = ", ".join(list(stored.queries)[:5])
        raise AssayError(f"--query {query}: not in {stored.manifest.id}, which has {some}, …")
    attribution = attribute(stored, k)
    wrong = find_wrong_documents(stored, attribution)
    if as_json:
        items = {"query": _describe(stored, attribution, query)} if query is not None else {}
        print_json(
            {
                "run": stored.manifest.id,
                **attribution.as_json(),
                "wrong_documents": wrong and asdict(wrong),
                **items,
            }
        )
    elif query is None:
        _print_run(stored, attribution)
        if wrong and (told := wrong.describe()):
            print_text(told)
        if missed := find_miss(attribution):
            given = stored.manifest.id if overrides else run
            print_next(shlex.join(["explain", given, "--query", missed]))
    else:
        print_query(stored, attribution, query)


def find_miss(attribution: "Attribution") -> str:
    """Return the query of the most relevant passage that was missed, with fewest; "" for none."""
    grades = {
        query: max(missed)
        for query, items in attribution.items.items()
        if (missed := [item.item.grade for item in items if item.status != "found"])
    }
    places = {query: len(attribution.items[query]) for query in grades}
    return min(grades, key=lambda query: (-grades[query], places[query], query), default="")


def _describe(run: "StoredRun", attribution: "Attribution", query: str) -> dict[str, Any]:
    asked = run.queries[query]
    items = [
        {**item.as_json(), "words": item.words, "excerpt": _excerpt(run, item)}
        for item in attribution.items[query]
    ]
    return {"id": query, "text": asked.text, "type": asked.type, "items": items}


def _print_run(run: "StoredRun", attribution: "Attribution") -> None:
    totals = {status: number for status, number in attribution.totals().items() if number}
    items = sum(totals.values())
    console = make_console()
    print_text(
        f"{run.manifest.id}: {items:,} correct passages of {len(run.queries):,} queries, "
        f"first {attribution.k} hits"
    )
    print_table(console, _totals(attribution, totals))
    if attribution.by_type and totals:
        print_table(console, _types(attribution, list(totals)))
    console.print("Ceilings: what a perfect order of the candidates after each step would score:")
    print_table(console, _ceilings(attribution))


def _totals(attribution: "Attribution", totals: dict[str, int]) -> "Table":
    from rich.markup import escape

    from assay.eval.runs.summary.attribution import MEANINGS

    table = make_table("status", "passages", "share")
    for name in ("stage or leg", "meaning"):
        table.add_column(name)
    whole = sum(totals.values())
    for status, items in totals.items():
        causes = ", ".join(f"{name} {n:,}" for name, n in attribution.causes(status).items())
        meaning = MEANINGS[status].format(k=attribution.k)
        table.add_row(
            status,
            f"{items:,}",
            f"{100 * items / whole:.1f} %",
            escape(causes),
            meaning,
            style=STYLES.get(status),
        )
    return table


def _types(attribution: "Attribution", statuses: list[str]) -> "Table":
    from rich.markup import escape

    table = make_table("type of query", *statuses)
    for kind, totals in attribution.by_type.items():
        table.add_row(
            escape(kind), *(f"{totals[status]:,}" if totals[status] else "–" for status in statuses)
        )
    return table


def _ceilings(attribution: "Attribution") -> "Table":
    from rich.markup import escape

    table = make_table("after", "candidates", *attribution.reached)
    rows = [(escape(i.step), f"{i.candidates:.1f}", i.measures) for i in attribution.ceilings]
    for step, candidates, scores in [*rows, ("actual", "", attribution.reached)]:
        figures = (f"{i.value:.3f} ({i.low:.3f} – {i.high:.3f})" for i in scores.values())
        style = "bold" if step == "actual" else None
        table.add_row(step, candidates, *figures, style=style)
    return table


def print_query(run: "StoredRun", attribution: "Attribution", query: str) -> None:
    """Print each correct passage of a query, and at which step it was lost."""
    print_text(f"{query}: {run.queries[query].text}", "bold")
    for number, item in enumerate(attribution.items[query], start=1):
        gold, style = item.item, STYLES.get(item.status, "yellow")
        click.echo()
        print_text(f"{number}. {gold.id} (grade {gold.grade}): {item.words}", style, 3)
        print_text(f"   {item.trail}", indent=3)
        print_text(f"   “{_excerpt(run, item)}”", "dim", 3)
    if not attribution.items[query]:
        click.echo("Nothing is judged relevant to this query.")


def _excerpt(run: "StoredRun", item: "ItemStatus") -> str:
    from assay.eval.report.formats import shorten

    return shorten(run.gold_texts[item.item.id], EXCERPT)
