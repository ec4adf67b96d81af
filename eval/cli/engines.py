"""`assay engines`: which engines can be used here, keep the rules, and what they leave behind."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_table
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.studies.stores.engines.inventory import Removable
    from assay.eval.studies.stores.engines.rebuilds import EngineConformance


@click.group()
def engines() -> None:
    """List the engines, check them, and remove what they keep."""


@engines.command("list")
@options.FULL
@options.JSON
def list_(as_json: bool) -> None:
    """List every engine with its state here.

    Shows what each engine can do; --full says what the words mean. Servers whose address is set are
    contacted.
    """
    from dataclasses import asdict

    from assay.eval.studies.stores.engines.inventory import describe_engines, list_providers
    from assay.eval.studies.stores.engines.report import report

    found, providers = list(describe_engines()), list(list_providers())
    if as_json:
        print_json(
            {
                "engines": [asdict(engine) for engine in found],
                "providers": [asdict(provider) for provider in providers],
            }
        )
        return
    print_report(report(found, providers))


@engines.command()
@click.argument("names", nargs=-1, metavar="[ENGINE [KEY=VALUE]...]...")
@click.option("--dataset", metavar="NAME", help="Collection, by name or folder.")
@options.LIMIT
@click.option(
    "--builds", type=click.IntRange(2, 100), default=3, show_default=True,
    help="Indexes that are built and compared.",
)  # fmt: skip
@options.JSON
def conformance(
    names: tuple[str, ...], dataset: str | None, limit: int | None, builds: int, as_json: bool
) -> None:
    """Check engines by every rule, and build their indexes again.

    They are ENGINE and others, or all that can be used here. KEY=VALUE changes a setting of the
    ENGINE before it. The index of a collection is built several times, each from nothing, and the
    best 100 of every query are compared: *exact* (the same texts and scores), *same but for ties*
    (texts whose scores are equal but for rounding change places) or *moves*, with the number of
    queries that differ, and of those that do so in the first ten. An engine that moves has to
    declare that it is not reproducible: runs that search it are then `nondeterministic`, and a
    stored one never stands for a new one.

    Exit code: 0 all keep the rules and are what they declare; 1 one does not; 2 bad input.
    """
    from assay.eval.configs.engine_settings import choose_engines
    from assay.eval.configs.locations import default_dataset
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.engines.engine_bench import open_bench
    from assay.eval.studies.stores.engines.rebuilds import examine_conformance

    engines, resources = choose_engines(names), make_resources()
    bench = open_bench(dataset or default_dataset(), limit, resources)
    found = [examine_conformance(bench, engine, builds, resources) for engine in engines]
    if as_json:
        collection = {"collection": bench.collection.name, "passages": len(bench.texts)}
        print_json({**collection, "engines": [each.as_json() for each in found]})
    else:
        title = f"{bench.collection.name}: {len(bench.texts):,} passages, {builds} builds"
        _print_conformance(title, found)
    if any(each.failed for each in found):
        sys.exit(1)


def _print_conformance(title: str, found: "list[EngineConformance]") -> None:
    from rich.markup import escape

    headings = ("engine", "rules kept", "dense", "keyword", "hybrid", "declared")
    table = make_table(*headings, title=escape(title), left=headings, whole=True)
    for each in found:
        searches = {item.search: item for item in each.searches}
        cells = [
            "–" if (item := searches.get(search)) is None
            else item.verdict if item.verdict == "exact"
            else f"{item.verdict}: {item.moved} of {each.queries}, top ten {item.moved_in_head}"
            for search in ("dense", "keyword", "hybrid")
        ]  # fmt: skip
        declared = "reproducible" if each.reproducible else "nondeterministic"
        kept = f"{each.rules - len(each.broken)} of {each.rules}"
        table.add_row(*map(escape, (each.engine, kept, *cells, declared)))
    print_table(make_console(), table)
    for each in found:
        for rule, problem in each.broken.items():
            click.echo(f"{each.engine}: breaks {rule}: {problem}")
        if each.untrue:
            click.echo(
                f"{each.engine}: declares that it is reproducible, and rankings differ between "
                "builds; set `reproducible` of its Capabilities"
            )


@engines.command()
@click.argument("names", nargs=-1, metavar="[ENGINE]...")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--cache", "cached", is_flag=True, help="Remove built indexes in the cache too.")
@options.JSON
def clean(names: tuple[str, ...], dry_run: bool, cached: bool, as_json: bool) -> None:
    """Drop every index that Assay made on servers.

    On those of ENGINE, or of all that are configured. Half-made ones, of processes that were
    killed, are among them, as are temporary copies that such processes left on this machine. What
    is needed is made again. Nothing else is touched: an index counts only where its name and the
    note in it are those that Assay gives.
    """
    from assay.eval.studies.stores.engines.inventory import clean as clean_all
    from assay.retrievers.base import AssayError

    cleaned = clean_all(names, dry_run, cached)
    if as_json:
        removed = [item.as_json() for item in cleaned.removed]
        print_json({"dry_run": dry_run, "removed": removed})
    else:
        _print(cleaned.removed, dry_run, bool(cleaned.problems))
        if cleaned.kept:
            _point_to_cache(cleaned.kept)
    if cleaned.problems:
        raise AssayError("\n".join(cleaned.problems))


def _print(removed: "Sequence[Removable]", dry_run: bool, failed: bool) -> None:
    verb = "would remove" if dry_run else "removed"
    for item in removed:
        click.echo(f"{verb} {item.engine} {item.name}: {item.detail}, {_size(item.bytes)}")
    if not removed and not failed:
        click.echo("nothing to remove")


def _point_to_cache(in_cache: "Sequence[Removable]") -> None:
    kinds = ", ".join(f"{item.engine} ({_size(item.bytes)})" for item in in_cache)
    click.echo(
        f"built indexes stay in the cache: {kinds}; --cache or `assay cache clear KIND` "
        "removes them"
    )


def _size(size: int | None) -> str:
    return "size not reported" if size is None else f"{size:,} bytes"
