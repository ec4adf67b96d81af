"""`assay dataset log` and `assay dataset diff`: the versions of a collection, and what differs."""

from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_table

if TYPE_CHECKING:
    from assay.eval.collections.history.contents import ItemChanges

MOST = 20  # ids of one sort of change that are shown
MARKS = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}


@click.command()
@click.argument("name")
@options.JSON
def log(name: str, as_json: bool) -> None:
    """List the versions of a collection, the newest first.

    `assay init` and `assay dataset sync` begin its history, the file versions.jsonl beside its
    card; each sync, and each baseline that is accepted, adds what changed. Runs name the version
    that they were judged on by its digest.
    """
    from rich.markup import escape

    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.history import read_history
    from assay.eval.collections.history.revisions import describe_restoring, find_commits
    from assay.retrievers.base import AssayError

    card = find_card(name)
    history = read_history(card)
    if not history:
        raise AssayError(f"{card.name}: has no history; `assay dataset sync {name}` begins one")
    commits = find_commits(card)
    if as_json:
        shown = [
            {
                **version.model_dump(exclude={"changes"}),
                "changes": version.changes.as_json(),
                "commit": commits.get(version.digest),
            }
            for version in reversed(history)
        ]
        print_json({"name": card.name, "versions": shown})
        return
    columns = ("date", "commit", "why", "what changed since its parent")
    table = make_table("version", *columns, left=columns, ruled=False)
    for version in reversed(history):
        commit = commits.get(version.digest, "")[:7] or "–"
        words = version.changes.words or "nothing"
        table.add_row(version.short, version.date[:10], commit, escape(version.why), words)
    print_table(make_console(), table)
    click.echo(f"to have the files of a version back: {describe_restoring(card)}")


@click.command()
@click.argument("name")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@options.JSON
def diff(name: str, before: str, after: str | None, as_json: bool) -> None:
    """Show what differs between versions A and B of a collection.

    B is by default what is there.

    A version is named by the first digits of its digest, as `assay dataset log` shows them, or by a
    git revision: a tag, a branch, HEAD~3. `>` marks a judgment whose text is at another place.
    """
    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.history.contents import PARTS, Contents, compare_contents
    from assay.eval.collections.history.revisions import read_contents
    from assay.eval.collections.loading import load_card
    from assay.eval.progress import ConsoleProgress

    card, progress = find_card(name), ConsoleProgress()
    old = read_contents(card, before, progress)
    new = (
        read_contents(card, after, progress)
        if after
        else Contents.of(load_card(card, card.variants[0], progress))
    )
    changes = compare_contents(old, new)
    if as_json:
        print_json({"name": card.name, "a": before, "b": after, "changes": changes.as_json()})
        return
    for part in PARTS:
        _print_changes(part, getattr(changes, part))
    if not changes.words:
        click.echo(f"{card.name}: {before} and {after or 'what is there'} are the same")


def _print_changes(part: str, changes: "ItemChanges") -> None:
    if not changes.words:
        return
    click.echo(f"{part}: {changes.words}")
    for kind, mark in MARKS.items():
        ids = list(getattr(changes, kind))
        for id_ in ids[:MOST]:
            shown = " ".join(id_.split("\t"))
            if kind == "moved":
                shown = f"{' '.join(changes.moved[id_].split(chr(9)))} → {shown.split(' ', 1)[1]}"
            click.echo(f"  {mark} {shown}")
        if ids[MOST:]:
            click.echo(f"  {mark} and {len(ids) - MOST} more; --json has all")
