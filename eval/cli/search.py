"""`assay search`: one query, what is found, and what every step did."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from retrievers.base import Hit, Ranking, StageTrace

EXCERPT = 240  # characters of a hit that are shown


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("query")
@click.argument("overrides", nargs=-1, metavar="[KEY.PATH=VALUE]...")
@click.option("--k", type=click.IntRange(1), default=5, show_default=True, help="Hits to show.")
@click.option("--context", is_flag=True, help="Print the context that a prompt would get.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def search(
    config: Path, query: str, overrides: tuple[str, ...], k: int, context: bool, as_json: bool
) -> None:
    """Search the collection of CONFIG for QUERY: hits, and a trace of every step.

    Times are those of a second search, when models are loaded, without any cache of answers. The
    context holds what the stage `context` keeps; without that stage, the hits shown.
    """
    from eval.cli.console import print_json
    from eval.collections.loading import load
    from eval.experiments.config import load_config
    from eval.experiments.workshop import make_workshop
    from retrievers.pipeline import PipelineSettings
    from retrievers.stages.context import assemble

    settings = load_config(config, overrides)
    collection = load(settings.dataset)
    with settings.build(make_workshop()) as retriever:
        retriever.index(collection.documents)
        retriever.search(query, 1)
        ranking = retriever.without_query_cache().search(query, max(k, settings.depth))
    recipe = settings.retriever
    stages = recipe.stages if isinstance(recipe, PipelineSettings) else []
    budgeted = any(stage.type == "context" for stage in stages)
    assembled = assemble(ranking.hits if budgeted else ranking.hits[:k]) if context else None
    if as_json:
        about = {"config": settings.name, "collection": collection.name, "query": query}
        print_json({**about, **_describe(ranking, k), "context": assembled})
        return
    title = f"{settings.name} on {collection.name}: {query}"
    _print(title, ranking, k, assembled)


def _describe(ranking: "Ranking", k: int) -> dict[str, Any]:
    return {
        "found": len(ranking.hits),
        "hits": [_describe_hit(rank, hit) for rank, hit in enumerate(ranking.hits[:k], start=1)],
        "trace": [
            {
                "name": step.name,
                "kind": step.kind,
                "milliseconds": step.milliseconds,
                "in": came_in,
                "out": went_out,
                "note": step.note,
                "counts": dict(step.counts),
            }
            for step, came_in, went_out in _count(ranking.trace)
        ],
        "degraded": list(ranking.degraded),
    }


def _describe_hit(rank: int, hit: "Hit") -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": rank,
        "id": chunk.id,
        "doc_id": chunk.doc_id,
        "start": chunk.start,
        "end": chunk.end,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "score": hit.score,
        "legs": {
            name: {"rank": placed.rank, "score": placed.score} for name, placed in hit.legs.items()
        },
        "text": chunk.text,
        "definitions": {item.term: item.text for item in hit.definitions},
    }


def _count(trace: "Sequence[StageTrace]") -> "Iterator[tuple[StageTrace, int | None, int | None]]":
    """Yield each step with the number of candidates that it was given and that it put out.

    Legs are given none, and what happens to the query has to do with none.
    """
    found: set[str] = set()
    for step in trace:
        ids = {id_ for id_, _ in step.candidates}
        if step.kind == "query":
            yield step, None, None
            continue
        yield step, None if step.kind == "leg" else len(found), len(ids)
        found = found | ids if step.kind == "leg" else ids


def _print(title: str, ranking: "Ranking", k: int, context: str | None) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(title, style="bold", markup=False)
    for line in ranking.degraded:
        console.print(f"degraded: {line}", style="bold red", markup=False)
    if not ranking.hits:
        console.print("nothing is found")
    for rank, hit in enumerate(ranking.hits[:k], start=1):
        _print_hit(console, rank, hit)
    if ranking.hits:
        console.print(f"\n{len(ranking.hits)} hits in all")
    console.print(_tabulate(ranking.trace))
    if context is not None:
        console.print("context", style="bold")
        click.echo(context)


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


def _tabulate(trace: "Sequence[StageTrace]") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("step", no_wrap=True)
    for title in ("ms", "in", "out"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("what it did")
    for step, came_in, went_out in _count(trace):
        sizes = ("" if size is None else str(size) for size in (came_in, went_out))
        table.add_row(escape(step.name), f"{step.milliseconds:.2f}", *sizes, escape(step.note))
    return table
