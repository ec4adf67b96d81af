"""`assay label`: the judgments of a filled-in table become part of its collection."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eval.cli import options
from eval.cli.output import print_json

if TYPE_CHECKING:
    from eval.collections.authoring.labelling import Labelled
    from eval.collections.authoring.labels import Labels
    from eval.collections.formats.rows import Row
    from eval.collections.problems import Problem


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--collection", help="What was judged; by default what the column collection says.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Leave the collection as it is and write a copy with the judgments, of the same format.",
)
@click.option(
    "--highest",
    type=options.at_least(1),
    help="The highest grade there is; by default the highest given in the collection.",
)
@options.JSON
def label(
    file: Path, collection: str | None, output: Path | None, highest: int | None, as_json: bool
) -> None:
    """Add the judgments in FILE, a table of `assay pool` with its grades filled in.

    Grades run from 0, not relevant, to the highest of the collection. Rows without a grade are
    passed over. Every row is checked first: if any is wrong, all that are wrong are listed,
    nothing is written, and the exit code is 2.

    The judgments go into the files of a native collection that lies below this folder or in the
    project, and its card is sealed anew. For any other, --output makes a copy.
    """
    from eval.collections.authoring import worksheet
    from eval.collections.authoring.labelling import (
        add_in_place,
        add_to_copy,
        finish_labelling,
    )
    from eval.collections.authoring.labels import check_labels, find_highest_grade
    from eval.collections.catalog import find
    from eval.collections.loading import load_card
    from eval.collections.problems import Problems

    rows = worksheet.read(file)
    card, variant = find(collection or _read_collection(file, rows))
    card = finish_labelling(card)
    judged = load_card(card, variant)
    problems = Problems(strict=False)
    labels = check_labels(rows, judged, highest or find_highest_grade(judged), problems)
    if problems.found:
        _report_wrong(file, problems.found, as_json)
        sys.exit(2)
    made = None
    if labels.new:
        made = (
            add_to_copy(judged, variant, labels.new, output, file.name)
            if output
            else add_in_place(judged, variant, labels.new)
        )
    _report(labels, made, as_json)


def _read_collection(file: Path, rows: "list[Row]") -> str:
    """Return the collection that all rows name."""
    from retrievers.base import AssayError

    names = {row.string("collection", "").strip() for row in rows} - {""}
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise AssayError(
            f"{file}: the column collection names {listed}; it must name one: say --collection NAME"
        )
    return names.pop()


def _report_wrong(file: Path, found: "list[Problem]", as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json({"ok": False, "problems": [asdict(problem) for problem in found]})
        return
    for problem in found:
        click.echo(str(problem), err=True)
    rows = "1 row is" if len(found) == 1 else f"{len(found)} rows are"
    click.echo(f"assay: {file}: {rows} wrong; nothing was written", err=True)


def _report(labels: "Labels", made: "Labelled | None", as_json: bool) -> None:

    if as_json:
        print_json(_describe(labels, made))
        return
    if made is None:
        click.echo("No new judgment: nothing was written.")
    else:
        files = ", ".join(map(str, made.files))
        click.echo(f"{len(labels.new)} judgments added to {made.card.name}: {files}")
        click.echo(f"{made.card.path}: sealed")
    click.echo(f"rows without a grade: {labels.unfilled}; judged so before: {labels.known}")


def _describe(labels: "Labels", made: "Labelled | None") -> dict[str, Any]:
    return {
        "ok": True,
        "added": len(labels.new),
        "unfilled": labels.unfilled,
        "known": labels.known,
        "card": str(made.card.path) if made else None,
        "files": [str(path) for path in made.files] if made else [],
    }
