"""`assay engines bench`: stores side by side."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table

if TYPE_CHECKING:
    from assay.eval.studies.stores.engines.benchmark import Benchmark


@click.command()
@click.argument("names", nargs=-1, metavar="[ENGINE [KEY=VALUE]...]...")
@click.option("--dataset", metavar="NAME", help="Collection, by name or folder.")
@options.LIMIT
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the page.  [default: the reports]",
)
@options.JSON
@click.option(
    "--passages",
    type=options.at_least(1_000),
    help="Bring the collection to so many, by passages that answer no query.",
)
@options.rerun("Measure again what equal calls measured before.")
def bench(
    names: tuple[str, ...],
    dataset: str | None,
    limit: int | None,
    passages: int | None,
    rerun: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure stores side by side.

    They are ENGINE and others, or all that can be used here. KEY=VALUE changes a setting of the
    ENGINE before it, as in exact=false. Of each its two lists and its own hybrid search: nDCG@10,
    recall of the dense list against exact search, p50 and p95 with one caller and with eight at
    once, queries a second; seconds and size of the index, memory of the server where that tells it.
    Callers are threads of this process.

    Then, of stores whose rows can be changed here: searches while rows are put; whether the next
    search sees what was deleted or put anew.

    Engines are measured one after another, in the order given, and the page is written after each:
    a call that is broken off goes on with the next engine. What a search would take more than two
    minutes for is left out, with the reason.

    Exit code: 0 done; 1 an engine failed; 2 for what is to be mended.
    """
    from assay.eval.configs.locations import default_dataset, reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.engines.benchmark_running import measure_stores

    found, page = measure_stores(
        names,
        dataset or default_dataset(),
        limit,
        passages,
        output or reports_folder() / "engines",
        rerun,
        make_resources(),
    )
    present(found, as_json, _print_benchmark, page=page)
    if found.absent:
        sys.exit(1)


def _print_benchmark(found: "Benchmark") -> None:
    from rich.markup import escape

    from assay.eval.studies.stores.engines.benchmark_page import (
        list_change_headings,
        list_change_rows,
        list_headings,
        list_lacking,
        list_rows,
    )

    title = f"{found.collection}: {found.passages:,} passages, n = {found.queries}"
    table = make_table(
        "engine", *list_headings(), title=escape(title), left=("search",), whole=True
    )
    for row in list_rows(found):
        table.add_row(*map(escape, row))
    searches = [item for store in found.stores for item in store.searches]
    _print(table, (line for item in searches for line in item.delays))
    if changed := list(list_change_rows(found)):
        title = "rows that change"
        table = make_table("engine", *list_change_headings(), title=title, whole=True)
        for row in changed:
            table.add_row(*map(escape, row))
        _print(table, ())
    for name, reason in {**found.absent, **list_lacking(found)}.items():
        click.echo(f"{name}: {reason}")


def _print(table: Any, delays: Iterable[str]) -> None:
    console = make_console()
    print_table(console, table)
    for line in delays:
        console.print(line, style="yellow", markup=False)
