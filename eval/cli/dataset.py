"""`assay dataset`: list, show and check judged collections."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_table
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option, StudyOptions

if TYPE_CHECKING:
    from assay.eval.collections.card import Card
    from assay.eval.collections.collection import Collection
    from assay.eval.collections.problems import Problem

import shlex
from typing import TYPE_CHECKING

from assay.eval.cli.output import (
    print_text,
    show_path,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.eval.collections.living.sync import SyncReport


SAMPLES = 3
ENTRY = {
    **dict.fromkeys(("name", "title", "format", "where", "why_not"), options.TEXT),
    **dict.fromkeys(("documents", "queries"), int | None),
    "available": bool,
}
# Below "*" stand the keys of a format of its own.
CARD = {
    "...": "eval.collections.card:Card",
    "-": ("digests",),
    "*": object,
    "card": options.TEXT,
    "variants": [str],
    "available": bool,
    "why_not": options.TEXT,
    "loaded?": dict.fromkeys(("documents", "passages", "queries", "judgments"), int),
    "independent?": options.TEXT,
    "overlap?": options.TEXT,
    "types?": {str: int},
    "digest?": str,
    "samples?": [{"id": str, "text": str, "gold": {str: int}}],
}
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


SHOWN = 3  # judgments or documents that are named of each sort


class SyncOptions(StudyOptions):
    """The collection whose judgments follow its documents."""

    collection: Annotated[str, Argument()]
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")


@click.command()
@takes(SyncOptions)
@options.prints("eval.collections.living.sync:SyncReport")
def sync(asked: SyncOptions, as_json: bool) -> None:
    """Find judgments again after the documents of COLLECTION changed.

    A judgment whose text stands verbatim elsewhere moves there, also into another document. One
    whose text was reworded, or stands in several places, waits in review.jsonl for a person, who
    gives it a `decision`: the number of the place, from 1, or 0 for none. The next sync does so.
    One whose text is gone stays in its file and no longer counts; it counts again when its text is
    back.
    """
    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.living.sync import sync as sync_card
    from assay.eval.progress import ConsoleProgress

    card = find_card(asked.collection)
    report = sync_card(card, dry_run=asked.dry_run, progress=ConsoleProgress())
    if as_json:
        print_json(report)
    else:
        _print(report, asked.collection, asked.dry_run)


def _print(report: "SyncReport", reference: str, dry_run: bool) -> None:
    from assay.eval.collections.living.findings import Status

    total = report.statuses.total()
    click.echo(f"{report.name}: {total} judgments in {report.documents} documents")
    notes = {
        Status.IN_PLACE: f"{report.edited} in edited sections or documents" * bool(report.edited),
        Status.ELSEWHERE: _name([item.place.doc_id for _, item in report.moved if item.place]),
        Status.REWORDED: "wait for a person; do not count",
        Status.AMBIGUOUS: "wait for a person; do not count",
        Status.GONE: "kept in their file; do not count",
    }
    table = make_table("judgments", "number", "", left=("",), ruled=False)
    for status in Status:
        shown = notes.get(status, "") if report.statuses[status] else ""
        table.add_row(status.value, str(report.statuses[status]), shown)
    print_table(make_console(), table)
    if report.accepted or report.rejected:
        click.echo(f"decided: {report.accepted} accepted, {report.rejected} rejected")
    if report.gone:
        names = _name([f"{item.query_id} ({item.anchor.path})" for item in report.gone])
        print_text(f"gone now: {names}")
    if report.review and not dry_run:
        print_text(
            f"to decide: write into {show_path(report.review)}, as the decision of each line, the "
            "number of the place from 1, or 0 for none; then assay dataset sync "
            f"{shlex.quote(reference)}"
        )
    if dry_run:
        click.echo("dry run: nothing is written")
    elif report.written:
        click.echo(f"written: {', '.join(path.name for path in report.written)}")
    else:
        click.echo("nothing to write: all was up to date")


def _name(items: "Sequence[str]") -> str:
    """Return the first of some names, and the number of the others."""
    names = list(dict.fromkeys(items))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


dataset.add_command(sync)


@dataset.command("list")
@options.prints(datasets=[ENTRY])
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
@options.prints(CARD)
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
@options.prints(
    ok=bool, datasets=[{"name": str, "problems": ["eval.collections.problems:Problem"]}]
)
def check(asked: CheckOptions, as_json: bool) -> None:
    """Report everything that is wrong with collections.

    Exit code: 2 if there is an error. The same error in several places is one line, with the first
    three places. A note is no error: it says what a reader of figures should know.
    """
    from assay.eval.collections.problems import summarise

    found = {name: _check(name) for name in asked.names}
    errors = sum(item.severity == "error" for problems in found.values() for item in problems)
    if as_json:
        listed = [{"name": name, "problems": problems} for name, problems in found.items()]
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
@options.prints(card=str, sizes={str: int}, digests={str: str})
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
