"""`assay dataset sync`: the judgments of a collection follow its documents."""

import shlex
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    print_json,
    print_table,
    print_text,
    show_path,
)
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.eval.collections.living.sync import SyncReport

SHOWN = 3  # judgments or documents that are named of each sort


class SyncOptions(StudyOptions):
    """The collection whose judgments follow its documents."""

    collection: Annotated[str, Argument()]
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")


@click.command()
@takes(SyncOptions)
@options.JSON
def sync(asked: SyncOptions, as_json: bool) -> None:
    """Find judgments again after the documents of COLLECTION changed.

    A judgment whose text stands verbatim elsewhere moves there, also into another document. One
    whose text was reworded, or stands in several places, waits in review.jsonl for a person, who
    gives it a `decision`: the number of the place, from 1, or 0 for none. The next sync does so.
    One whose text is gone stays in its file and no longer counts; it counts again when its text is
    back.
    """
    from assay.eval.collections.catalog import find_card
    from assay.eval.collections.living.sync import describe
    from assay.eval.collections.living.sync import sync as sync_card
    from assay.eval.progress import ConsoleProgress

    card = find_card(asked.collection)
    report = sync_card(card, dry_run=asked.dry_run, progress=ConsoleProgress())
    if as_json:
        print_json(describe(report))
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
