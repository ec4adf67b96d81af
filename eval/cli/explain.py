"""`assay explain`: at which step of a run correct passages were lost."""

import shlex
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_next, print_text
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.studies.explanation.finding import Explanation

STYLES = {"found": "green", "in no chunk": "red", "in no leg": "red", "not retrieved": "red"}


@click.command()
@options.RUN
@options.OVERRIDES
@options.dataset("overrides")
@click.option("--query", help="The id of a query: show each of its correct passages.")
@click.option(
    "-k", default=10, type=options.at_least(1), help="How many hits count.", show_default=True
)
@options.FULL
@options.JSON
def explain(run: str, overrides: tuple[str, ...], query: str | None, k: int, as_json: bool) -> None:
    """Show at which step correct passages were lost.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, its folder, or the id of a run in MLflow. A stored run is not searched again.
    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run_references import resolve
    from assay.eval.studies.explanation.finding import explain as find
    from assay.eval.studies.explanation.report import report

    found = find(resolve(run, overrides, ConsoleProgress()), k, query)
    if as_json:
        print_json(found.as_json())
    elif query is None:
        print_report(report(found))
        if missed := found.worst_query:
            given = found.run.manifest.id if overrides else run
            print_next(shlex.join(["explain", given, "--query", missed]))
    else:
        print_query(found, query)


def print_query(found: "Explanation", query: str) -> None:
    """Print each correct passage of a query, and at which step it was lost."""
    print_text(f"{query}: {found.run.queries[query].text}", "bold")
    items = found.attribution.items[query]
    for number, item in enumerate(items, start=1):
        gold, style = item.item, STYLES.get(item.status, "yellow")
        click.echo()
        print_text(f"{number}. {gold.id} (grade {gold.grade}): {item.words}", style, 3)
        print_text(f"   {item.trail}", indent=3)
        print_text(f"   “{found.excerpt(item)}”", "dim", 3)
    if not items:
        click.echo("Nothing is judged relevant to this query.")
