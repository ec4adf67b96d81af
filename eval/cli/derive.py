"""`assay dataset derive`: look-up queries from documents alone."""

from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json


@click.command()
@click.argument("collection")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of the new collection; its name is the collection's.",
)
@click.option(
    "--kinds",
    help="Some of the kinds, with commas between them.  [default: all but titled_section]",
)
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@options.JSON
def derive(collection: str, output: Path, kinds: str | None, force: bool, as_json: bool) -> None:
    """Make look-up queries of the documents of COLLECTION.

    They and the documents are a new collection. COLLECTION is a name or a folder: a collection's,
    or one of Markdown and text files. The kinds are title, heading, keyword, identifier, truncated
    (a word's beginning), section and paragraph (of statutes, by number), titled_section (a number
    that several documents have, with a title), answered by what they name; and duplicate, which
    plants copies of documents. No retrieval system is run, and what is ambiguous is left out.
    """
    from dataclasses import asdict

    from assay.eval.collections.authoring.known_item_collections import (
        DEFAULT_KINDS,
        KINDS,
        make_lookups,
        read_origins,
    )
    from assay.retrievers.base import AssayError
    from assay.retrievers.base.suggestions import suggest

    named = [kind.strip() for kind in kinds.split(",")] if kinds is not None else DEFAULT_KINDS
    if unknown := [kind for kind in named if kind not in KINDS]:
        near = suggest(unknown[0], KINDS)
        raise AssayError(f"--kinds: {unknown[0]!r}: allowed: {', '.join(KINDS)}{near}")
    wanted = [kind for kind in KINDS if kind in named]
    made = make_lookups(read_origins(collection), wanted, output, force=force)
    if as_json:
        print_json({**asdict(made), "card": str(made.card)})
        return
    for kind in (kind for kind in wanted if kind != "duplicate"):
        left_out = made.ambiguous.get(kind, 0)
        note = f"  ({left_out} ambiguous, left out)" if left_out else ""
        click.echo(f"{kind:>12}  {made.queries.get(kind, 0)} queries{note}")
    click.echo(f"{'documents':>12}  {made.documents}, of them {made.copies} planted duplicates")
    click.echo(f"{'card':>12}  {made.card}")
