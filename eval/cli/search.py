"""`assay search`: one query, what is found, and what every step did."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eval.cli import options
from eval.cli.output import make_console, make_table, present, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from eval.experiments.search import Found
    from retrievers.base import Hit

EXCERPT = 240  # characters of a hit that are shown


@click.command()
@options.CONFIG
@click.argument("query")
@options.OVERRIDES
@options.dataset("overrides")
@click.option("--k", type=click.IntRange(1), default=5, show_default=True, help="Hits to show.")
@click.option("--context", is_flag=True, help="Print the context that a prompt would get.")
@options.JSON
def search(
    config: Path, query: str, overrides: tuple[str, ...], k: int, context: bool, as_json: bool
) -> None:
    """Search the collection of CONFIG for QUERY: hits, and a trace of every step.

    Times are those of a second search, when models are loaded, without any cache of answers. The
    context holds what the stage `context` keeps; without that stage, the hits shown.
    """
    from eval.experiments import search as searching
    from eval.experiments.config import load_config

    found = searching.search(load_config(config, overrides), query, k, context)
    present(found, as_json, _print)


def _print(found: "Found") -> None:
    console, hits = make_console(), found.ranking.hits
    title = f"{found.pipeline} on {found.collection}: {found.query}"
    console.print(title, style="bold", markup=False)
    for line in found.ranking.degraded:
        console.print(f"degraded: {line}", style="bold red", markup=False)
    if not hits:
        console.print("nothing is found")
    for rank, hit in found.shown:
        _print_hit(console, rank, hit)
    if hits:
        console.print(f"\n{len(hits)} hits in all")
    print_table(console, _tabulate(found))
    if found.context is not None:
        console.print("context", style="bold")
        click.echo(found.context)


def _print_hit(console: "Console", rank: int, hit: "Hit") -> None:
    chunk = hit.chunk
    path = " > ".join(filter(None, (*chunk.headings, chunk.title)))
    legs = ", ".join(f"{name} {placed.rank}" for name, placed in hit.legs.items())
    place = f"{chunk.doc_id} {chunk.start}–{chunk.end}"
    text = " ".join(chunk.text.split())
    excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} …"
    console.print()
    console.print(f"{rank}. {path or chunk.doc_id}", style="bold", markup=False)
    beside = (f"score {hit.score:.4g}", f"ranks: {legs or 'in no leg'}", place)
    console.print(f"   {'; '.join(beside)}", style="dim", markup=False)
    console.print(f"   {excerpt}", markup=False)
    for item in hit.definitions:
        console.print(f"   {item.term}: {' '.join(item.text.split())}", style="dim", markup=False)


def _tabulate(found: "Found") -> "Table":
    from rich.markup import escape

    table = make_table("step", "ms", "in", "out", whole=True)
    table.add_column("what it did")
    for step, came_in, went_out in found.steps():
        sizes = ("" if size is None else str(size) for size in (came_in, went_out))
        table.add_row(escape(step.name), f"{step.milliseconds:.2f}", *sizes, escape(step.note))
    return table
