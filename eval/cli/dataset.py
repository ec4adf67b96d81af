"""`assay dataset`: list, show and check judged collections."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.dataset_sync import sync
from assay.eval.cli.output import make_console, make_table, print_json, print_table
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option, StudyOptions

if TYPE_CHECKING:
    from assay.eval.collections.card import Card
    from assay.eval.collections.collection import Collection
    from assay.eval.collections.problems import Problem


SAMPLES = 3
COLUMNS = ("name", "title", "format", "documents", "queries", "where")


class CheckOptions(StudyOptions):
    """The collections that are checked, and how fully."""

    names: Annotated[tuple[str, ...], Argument("NAME…")] = Field(min_length=1)
    in_full: Annotated[bool, Option(("--all",))] = Field(
        False, description="A line for each place of the same fault."
    )


@click.group()
def dataset() -> None:
    """List, show, check, sync and seal judged collections."""


dataset.add_command(sync)


@dataset.command("list")
@options.JSON
def list_(as_json: bool) -> None:
    """List the collections there are, and whether each can be used here."""
    from assay.eval.collections.catalog import list_cards

    entries = [_summarise(name, path) for name, path in list_cards().items()]
    if as_json:
        print_json({"datasets": entries})
        return
    _print_table(entries)


@dataset.command()
@click.argument("name")
@options.JSON
def show(name: str, as_json: bool) -> None:
    """Show what a collection is, and some of its queries. NAME may be NAME:VARIANT."""
    from assay.eval.collections.catalog import find
    from assay.eval.collections.loading import load_card
    from assay.eval.collections.location import why_unavailable
    from assay.eval.progress import ConsoleProgress

    card, variant = find(name)
    why_not = why_unavailable(card)
    shown = card.model_dump(mode="json", exclude={"digests"})
    shown |= {"card": str(card.path) if card.path else None, "variants": list(card.variants)}
    shown |= {"available": not why_not, "why_not": why_not}
    if not why_not:
        shown |= _describe(load_card(card, variant, ConsoleProgress()))
    if as_json:
        print_json(shown)
        return
    for key, value in shown.items():
        if value not in (None, "", [], {}):
            _print_entry(key, value)


@dataset.command()
@takes(CheckOptions)
@options.JSON
def check(asked: CheckOptions, as_json: bool) -> None:
    """Report everything that is wrong with collections.

    Exit code: 2 if there is an error. The same error in several places is one line, with the first
    three places. A note is no error: it says what a reader of figures should know.
    """
    from dataclasses import asdict

    from assay.eval.collections.problems import summarise

    found = {name: _check(name) for name in asked.names}
    errors = sum(item.severity == "error" for problems in found.values() for item in problems)
    if as_json:
        listed = [
            {"name": name, "problems": [asdict(item) for item in problems]}
            for name, problems in found.items()
        ]
        print_json({"ok": not errors, "datasets": listed})
    else:
        for name, problems in found.items():
            for line in map(str, problems) if asked.in_full else summarise(problems):
                click.echo(line)
            click.echo(f"{name}: {_count(problems)}")
    if errors:
        sys.exit(2)


@dataset.command()
@click.argument("name")
@options.JSON
def seal(name: str, as_json: bool) -> None:
    """Write the actual sizes and digests of a collection into its card."""
    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.digests import seal as seal_card
    from assay.eval.progress import ConsoleProgress

    card = seal_card(find_card(name), ConsoleProgress())
    sizes = card.sizes.model_dump() if card.sizes else {}
    if as_json:
        result = {"card": str(card.path), "sizes": sizes, "digests": card.digests}
        print_json(result)
    else:
        counts = ", ".join(f"{count} {what}" for what, count in sizes.items() if count)
        click.echo(f"{card.path}: sealed: {counts or 'empty'}; {len(card.digests)} digests")


def _summarise(name: str, path: Path) -> dict[str, Any]:
    from assay.eval.collections.catalog import read_card
    from assay.eval.collections.location import why_unavailable
    from assay.retrievers.base import AssayError

    entry: dict[str, Any] = dict.fromkeys(("title", "format", "documents", "queries", "where"))
    try:
        card = read_card(path)
    except AssayError as error:
        return {"name": name, **entry, "available": False, "why_not": str(error)}
    why_not = why_unavailable(card)
    return {
        "name": name,
        "title": card.title,
        "format": card.format,
        "documents": card.sizes.documents if card.sizes else None,
        "queries": card.sizes.queries if card.sizes else None,
        "where": card.location,
        "available": not why_not,
        "why_not": why_not,
    }


def _describe(collection: "Collection") -> dict[str, Any]:
    from assay.eval.collections.groups import describe_groups, find_groups
    from assay.eval.collections.traits import describe_overlap, find_collection_overlaps

    copies = collection.card.known_copies
    groups = find_groups(collection.queries, collection.gold, copies)
    types: dict[str, int] = {}
    for query in collection.queries:
        types[query.type or "-"] = types.get(query.type or "-", 0) + 1
    samples = [
        {
            "id": query.id,
            "text": query.text,
            "gold": {item.id: item.grade for item in collection.gold[query.id]},
        }
        for query in collection.queries[:SAMPLES]
    ]
    return {
        "loaded": {
            "documents": len(collection.documents),
            "passages": collection.passages,
            "queries": len(collection.queries),
            "judgments": collection.judgments,
        },
        "independent": describe_groups(groups.values()) or None,
        "overlap": describe_overlap(find_collection_overlaps(collection)) or None,
        "types": types,
        "digest": collection.digest,
        "samples": samples,
    }


def _print_table(entries: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    numbers = ("documents", "queries")
    others = (*COLUMNS[1:], "available")
    table = make_table("name", *others, left=set(others) - set(numbers), ruled=False)
    for column in table.columns:
        column.no_wrap = column.header not in ("title", "where")
    for entry in entries:
        words = ["?" if entry[key] is None else escape(str(entry[key])) for key in COLUMNS]
        table.add_row(*words, "yes" if entry["available"] else "no")
    print_table(make_console(), table)
    for entry in entries:
        if not entry["available"]:
            click.echo(f"{entry['name']}: {entry['why_not']}")


def _print_entry(key: str, value: Any) -> None:
    if key == "samples":
        for sample in value:
            click.echo(f"{'query':>18}  {sample['id']}: {sample['text']}")
            click.echo(f"{'gold':>18}  {', '.join(sample['gold'])}")
    else:
        click.echo(f"{key:>18}  {_in_words(value)}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_in_words(part)}" for name, part in value.items())
    if isinstance(value, list):
        return " + ".join(map(str, value))
    return str(value)


def _count(problems: "Sequence[Problem]") -> str:
    """Return the number of problems; notes are mentioned only if there are any."""
    from assay.eval.report.formats import count

    found = Counter(problem.severity for problem in problems)
    told = [count(found["error"], "error"), count(found["warning"], "warning")]
    return ", ".join([*told, *([count(found["note"], "note")] if found["note"] else [])])


def _check(name: str) -> "list[Problem]":
    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.check import check as check_card
    from assay.eval.collections.problems import Problem
    from assay.eval.progress import ConsoleProgress
    from assay.retrievers.base import AssayError

    try:
        card: Card = find_card(name)
    except AssayError as error:
        return [Problem(name, 0, "error", str(error))]
    return check_card(card, ConsoleProgress())
