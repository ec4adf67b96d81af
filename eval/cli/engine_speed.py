"""`assay engines check` and `assay engines bench`: what adapters add, and stores side by side."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table

if TYPE_CHECKING:
    from assay.eval.studies.stores.engines.benchmark import Benchmark
    from assay.eval.studies.stores.engines.clients import ClientChecks

STYLES = {"over": "red", "within": "green"}


def _takes_engines(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command engines, a collection, a limit, a folder for its page, and JSON."""
    folder = click.Path(path_type=Path, file_okay=False)
    for option in (
        options.JSON,
        click.option("--output", type=folder, help="Folder of the page.  [default: the reports]"),
        options.LIMIT,
        click.option("--dataset", metavar="NAME", help="Collection, by name or folder."),
        click.argument("names", nargs=-1, metavar="[ENGINE [KEY=VALUE]...]..."),
    ):
        command = option(command)
    return command


@click.command()
@_takes_engines
def check(
    names: tuple[str, ...],
    dataset: str | None,
    limit: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Time the adapter of ENGINE beside its store's bare client.

    Without ENGINE, of all that run here. KEY=VALUE changes a setting of the ENGINE before it, as in
    exact=false. Both ask the same index for the same hundred hits, query by query in turns: the
    client as it connects by default, its request made ready before. The ratio is what the adapter
    costs; it may be 1.2. Both are asked twice in the same turns: how far the client's ratio to
    itself lies from 1, the other may be wrong by. Fixed waits of the network are told where either
    shows one.

    Exit code: 0 no engine is over 1.2; 1 the whole interval of a ratio is, or an engine failed; 2
    for what is to be mended.
    """
    from assay.eval.configs.locations import default_dataset, reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.engines.benchmark_page import write_checks
    from assay.eval.studies.stores.engines.client_checks import check_clients

    found = check_clients(names, dataset or default_dataset(), limit, make_resources())
    page = write_checks(found, output or reports_folder() / "engines")
    present(found, as_json, _print_checks, page=page)
    if found.failed:
        sys.exit(1)


@click.command()
@click.option(
    "--passages",
    type=options.at_least(1_000),
    help="Bring the collection to so many, by passages that answer no query.",
)
@options.rerun("Measure again what equal calls measured before.")
@_takes_engines
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

    Then, of stores whose rows can be changed here: searches among 1 %, 10 % and 90 % of the rows,
    by a label, with recall against exact search there; searches while rows are put; whether the
    next search sees what was deleted or put anew.

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


def _print_checks(found: "ClientChecks") -> None:
    from assay.eval.report.formats import amount, interval
    from assay.eval.studies.stores.engines.benchmark_page import ratio

    title = f"adapter over client, {found.queries} queries of {found.collection}"
    headings = (
        *("list", "adapter ms", "client ms", "ratio", "95 % interval"),
        *("client twice", "95 % interval", "verdict"),
    )
    table = make_table("engine", *headings, title=title, left=("list", "verdict"), whole=True)
    for one in found.checks:
        for item in one.lists:
            style = STYLES.get(item.verdict)
            table.add_row(
                one.engine,
                item.search,
                *(amount(times["p50"].value) for times in (item.adapter, item.client)),
                *(
                    text
                    for one_of in (item.ratio, item.control)
                    for text in (ratio(one_of.value), interval(one_of, ratio))
                ),
                f"[{style}]{item.verdict}[/]" if style else item.verdict,
            )
    _print(table, (line for one in found.checks for item in one.lists for line in item.delays))
    _print_missing(found.absent)
    if found.unknown:
        click.echo(f"no bare client is known of: {', '.join(found.unknown)}")


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
        title = "rows that are filtered and changed"
        table = make_table("engine", *list_change_headings(), title=title, whole=True)
        for row in changed:
            table.add_row(*map(escape, row))
        _print(table, ())
    _print_missing({**found.absent, **list_lacking(found)})


def _print(table: Any, delays: Iterable[str]) -> None:
    console = make_console()
    print_table(console, table)
    for line in delays:
        console.print(line, style="yellow", markup=False, soft_wrap=True)


def _print_missing(missing: "dict[str, str] | Any") -> None:
    for name, reason in missing.items():
        click.echo(f"{name}: {reason}")
