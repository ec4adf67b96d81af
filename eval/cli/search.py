"""`assay search`: one query, its hits, and the trace of every step."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option
from assay.eval.running.study_options import LARGEST, ConfigOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.studies.search.search import SearchAnswer
    from assay.retrievers.base import Hit
    from assay.retrievers.base.chunk_neighborhood import ChunkNeighborhood, Pointer

EXCERPT = 240  # characters of a hit or its context that are shown
SHOWN = 5  # references of a hit that are shown


class SearchOptions(ConfigOptions):
    """The options of `assay search`: where and what to search, and what to show."""

    query: Annotated[str, Argument()]
    k: int = Field(5, ge=1, le=LARGEST, description="Hits to show.")
    context: bool = Field(False, description="Print the context that a prompt would get.")
    filter: Annotated[str, Option(metavar="JSON")] = Field(
        "", description='What may be found: {"field": "product", "equals": "MK-60"}.'
    )
    principal: Annotated[str, Option(metavar="NAME")] = Field(
        "", description="Who asks, by the name that the card has."
    )


@click.command()
@takes(SearchOptions)
@options.prints("eval.studies.search.search:SearchAnswer")
def search(asked: SearchOptions, as_json: bool) -> None:
    """Search the collection of CONFIG for QUERY: hits, and a trace of every step.

    dataset=PATH may also be a folder of documents, or one file.

    Times are those of a second search, with models loaded and without cached answers. The context
    is what the stage `context` keeps; without that stage, the hits shown.
    """
    from assay.eval.collections.collection import Query
    from assay.eval.configs.config import load_config
    from assay.eval.studies.search import search as searching

    text, condition = asked.query, _read_filter(asked.filter or "{}")
    query = Query(repr(text), text, filter=condition, principal=asked.principal)
    config = load_config(asked.config, asked.changes)
    found = searching.search(config, query, asked.k, asked.context)
    present(found, as_json, _print)


def _read_filter(condition: str) -> dict[str, Any]:
    from assay.retrievers.base import AssayError

    try:
        found = json.loads(condition)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        example = '{"field": "product", "equals": "MK-60"}'
        raise AssayError(f"--filter: not a filter in JSON; allowed: one such as {example}")
    return found


def _print(found: "SearchAnswer") -> None:
    console, hits = make_console(), found.ranking.hits
    title = f"{found.pipeline} on {found.collection}: {found.query}"
    console.print(title, style="bold", markup=False)
    for line in found.ranking.degraded:
        console.print(f"degraded: {line}", style="bold red", markup=False)
    if not hits:
        console.print("nothing is found")
    for rank, hit in found.shown:
        around = found.neighborhoods.get(hit.chunk.id)
        _print_hit(console, rank, hit, around)
        if around:
            _print_around(console, around)
        _print_definitions(console, hit)
    if hits:
        console.print(f"\n{len(hits)} hits in all")
    print_table(console, _tabulate(found))
    if found.context is not None:
        console.print("context", style="bold")
        click.echo(found.context)


def _print_hit(
    console: "Console", rank: int, hit: "Hit", around: "ChunkNeighborhood | None"
) -> None:
    chunk = hit.chunk
    source = around.source if around else chunk.doc_id
    title = chunk.title or (around.title if around else "")
    path = " > ".join(dict.fromkeys(filter(None, (title, *chunk.headings))))
    legs = ", ".join(f"{name} {placed.rank}" for name, placed in hit.legs.items())
    page = f" page {around.page}," if around and around.page else ""
    place = f"{source}{page} {chunk.start}–{chunk.end}"
    console.print()
    console.print(f"{rank}. {path or source}", style="bold", markup=False)
    beside = (f"score {hit.score:.4g}", f"ranks: {legs or 'in no leg'}", place)
    _say(console, "; ".join(beside))
    known = (around.language, around.updated_at) if around else ()
    _say(console, " ".join(filter(None, (chunk.kind, chunk.section_id, *known))))
    if chunk.context:
        _say(console, f"context: {_shorten(chunk.context)}")
    console.print(f"   {_shorten(chunk.text)}", markup=False)


def _print_around(console: "Console", around: "ChunkNeighborhood") -> None:
    shares = ["combined"] * around.combined + ["split"] * around.split
    below = [f"below {' > '.join(around.parents)}"] * bool(around.parents)
    _say(console, ", ".join([f"chunk {around.order} of {around.total}", *shares, *below]))
    written = (
        f"{item.text} ({'another law' if item.external else ', '.join(item.targets)})"
        for item in around.references
    )
    for name, items in (
        ("refers to", list(dict.fromkeys(written))),
        ("points at", list(map(_describe_pointer, around.outgoing or ()))),
        ("pointed at from", list(map(_describe_pointer, around.incoming or ()))),
    ):
        if items:
            more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
            _say(console, f"{name}: {'; '.join(items[:SHOWN])}{more}")


def _print_definitions(console: "Console", hit: "Hit") -> None:
    for item in hit.definitions:
        place = f"{item.doc_id} {item.start}–{item.end}"
        _say(console, f"{item.term}: {' '.join(item.text.split())} ({place})")
        for exception in item.exceptions:
            _say(console, f"   except: {' '.join(exception.split())}")


def _describe_pointer(pointer: "Pointer") -> str:
    return " ".join(filter(None, (pointer.doc_id, pointer.section_id, f"({pointer.kind})")))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} …"


def _say(console: "Console", line: str) -> None:
    console.print(f"   {line}", style="dim", markup=False)


def _tabulate(found: "SearchAnswer") -> "Table":
    from rich.markup import escape

    table = make_table("step", "ms", "in", "out", whole=True)
    table.add_column("what it did")
    for step, came_in, went_out in found.steps():
        sizes = ("" if size is None else str(size) for size in (came_in, went_out))
        table.add_row(escape(step.name), f"{step.milliseconds:.2f}", *sizes, escape(step.note))
    return table
