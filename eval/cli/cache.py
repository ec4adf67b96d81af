"""`assay cache`: the contents of the content-addressed cache."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json


@click.group()
def cache() -> None:
    """Show or clear the cache of models, chunks, embeddings, indexes and rerank scores."""


@cache.command()
@options.prints(folder=str, kinds={str: {"entries": int, "bytes": int}})
def info(as_json: bool) -> None:
    """Show what each kind of entry takes."""
    from assay.retrievers.store.cache import Cache, default_root

    store = Cache(default_root())
    usage = store.usage()
    if as_json:
        kinds = {item.kind: {"entries": item.entries, "bytes": item.bytes} for item in usage}
        print_json({"folder": str(store.root), "kinds": kinds})
        return
    click.echo(store.root)
    for item in usage:
        click.echo(f"{item.kind:<18} {item.entries:>8} entries {item.bytes / 1e6:>9.1f} MB")


@cache.command()
@click.argument("kind", required=False)
@options.prints(removed={str: int})
def clear(kind: str | None, as_json: bool) -> None:
    """Remove the entries of KIND, or all; what is needed is made again."""
    from assay.retrievers.store.cache import Cache, default_root

    removed = Cache(default_root()).clear(kind)
    if as_json:
        print_json({"removed": {item.kind: item.entries for item in removed}})
        return
    for item in removed:
        click.echo(f"removed {item.entries} entries of {item.kind}, {item.bytes / 1e6:.1f} MB")
    if not removed:
        click.echo("the cache is empty")
