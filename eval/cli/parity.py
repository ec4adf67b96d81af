"""`assay parity`: what an engine's hybrid search really is, and what it is worth."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from eval.experiments.engine_bench import Bench
    from eval.experiments.engine_settings import ConfiguredEngine
    from eval.parity.results import Absence, Parity
    from retrievers.settings import Workshop


@click.command()
@click.argument("words", nargs=-1, metavar="[ENGINE] [COLLECTION]... [KEY=VALUE]...")
@click.option("--all", "every", is_flag=True, help="Every engine that runs here.")
@click.option("--limit", type=click.IntRange(1), help="Ask only so many queries: a quick look.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --all: the folder of engines.md and engines.json.  [default: the reports]",
)
@click.option("--no-track", is_flag=True, help="Do not log to MLflow.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def parity(
    words: tuple[str, ...],
    every: bool,
    limit: int | None,
    output: Path | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched apart and fused by the formula that it states: what it returns is identical, identical
    but for ties, explained by one thing changed, or different. Then quality and latency of its
    lists, its own fusion, and ours (reciprocal ranks, k = 60) of the same lists.

    With --all there is no ENGINE: every engine that runs here is looked at as it is by default,
    and with each other fusion that it has, on each COLLECTION. Those that lack an extra or a
    server's address are left out with a line.

    Exit code: 0 done, whatever the verdicts; 1 with --all, where an engine failed; 2 for what is
    to be mended.
    """
    from eval.cli.console import print_json
    from eval.cli.parity_output import deliver, print_all, print_one
    from eval.experiments.workshop import make_workshop
    from retrievers.base import AssayError

    request = _read(words, every)
    if output and not every:
        raise AssayError("--output: goes with --all")
    workshop = make_workshop()
    found = list(_look(request, limit, workshop))
    delivered = deliver(found, every, output, not no_track, workshop.progress)
    if as_json:
        print_json(delivered.as_json())
    elif every:
        print_all(delivered)
    else:
        print_one(delivered)
    sys.exit(1 if any(item.failed for item in delivered.absent) else 0)


class Request(NamedTuple):
    """What is to be looked at; `engines` is the one engine, or with `every` all of them."""

    engines: "list[ConfiguredEngine]"
    collections: list[str]
    every: bool


def _read(words: Sequence[str], every: bool) -> Request:
    """Return what the arguments ask for. Raises AssayError before any work starts."""
    from eval.collections.catalog import find
    from eval.experiments.engine_settings import list_fusions, read_engine
    from eval.experiments.locations import default_dataset
    from retrievers.base import AssayError

    overrides = [word for word in words if "=" in word]
    names = [word for word in words if "=" not in word]
    if every and overrides:
        raise AssayError(f"{overrides[0]}: settings go with one ENGINE, not with --all")
    if not every and not names:
        raise AssayError("name an ENGINE, or give --all; `assay components` lists the engines")
    engines = list(list_fusions()) if every else [read_engine(names.pop(0), overrides)]
    collections = names or [default_dataset()]
    for name in collections:
        find(name)
    if len(collections) > 1 and not every:
        raise AssayError(f"{collections[1]}: one COLLECTION at a time, or --all")
    return Request(engines, collections, every)


def _look(
    request: Request, limit: int | None, workshop: "Workshop"
) -> "Iterator[Parity | Absence]":
    """Yield what is found of each engine on each collection, which is opened once."""
    from eval.experiments.engine_bench import open_bench
    from eval.parity.results import Absence

    missing: set[str] = set()
    for name in request.collections:
        bench = open_bench(name, limit, workshop)
        for configured in request.engines:
            if configured.type in missing:
                continue
            if not request.every:
                yield _examine(bench, configured, workshop)
                continue
            found = _attempt(bench, configured, workshop)
            if isinstance(found, Absence) and not found.failed:
                missing.add(configured.type)
            yield found


def _examine(bench: "Bench", configured: "ConfiguredEngine", workshop: "Workshop") -> "Parity":
    from contextlib import closing

    from eval.experiments.parity_sweep import examine

    with closing(configured.build(workshop)) as engine:
        return examine(bench, configured, engine, workshop.progress)


def _attempt(
    bench: "Bench", configured: "ConfiguredEngine", workshop: "Workshop"
) -> "Parity | Absence":
    """As `_examine`; what goes wrong becomes a line, and the other engines go on."""
    from eval.experiments.engine_settings import is_missing
    from eval.parity.results import Absence
    from retrievers.base import AssayError

    try:
        return _examine(bench, configured, workshop)
    except AssayError as error:
        reason = " ".join(str(error).split())
        failed = not is_missing(configured, reason)
        workshop.progress.say(f"{'failed' if failed else 'left out'}: {reason}")
        return Absence(configured.label, bench.collection.name, reason, failed)
