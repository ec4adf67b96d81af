"""`assay init`: a folder of documents, and questions about them, become a judged collection."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eval.cli import options
from eval.cli.output import print_json

if TYPE_CHECKING:
    from eval.collections.authoring.author import Authored


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--questions",
    type=click.Path(path_type=Path),
    help="A .csv, .tsv or .jsonl file: question, quote; document, type, grade, id if you like.",
)
@click.option("--name", help="Name of the collection; by default the folder's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the card goes; by default ./datasets/NAME.",
)
@click.option("--force", is_flag=True, help="Overwrite a collection that is there already.")
@options.JSON
def init(
    folder: Path,
    questions: Path | None,
    name: str | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make a judged collection of the documents below FOLDER.

    Markdown and text files stay where they are. Where there are others (PDF, DOCX, PPTX, XLSX,
    HTML, EPUB, text that is not UTF-8), the text of all goes into the collection's folder docs.

    The quote of each question is found in the documents and becomes its gold span. What cannot be
    found is listed, and written to unlocated.csv. Exits with 2 if no question could be placed.
    """
    from eval.cli.skipped_files import describe_skipped
    from eval.experiments.authoring import author_folder

    made, read = author_folder(folder, questions, name, output, force=force)
    if as_json:
        skipped = [{"path": item.path, "reason": item.reason} for item in read.skipped]
        print_json(_describe(made) | {"skipped": skipped})
    else:
        for line in describe_skipped(read.skipped):
            click.echo(line)
        for item in read.documents:
            if item.converted.encoding not in ("", "utf-8"):
                click.echo(f"{item.path}: not in UTF-8, read as {item.converted.encoding}")
        _print(made)
    if questions and not made.judged.queries:
        sys.exit(2)


def _describe(made: "Authored") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": made.name,
        "card": str(made.card),
        "pipeline": str(made.pipeline),
        "documents": made.documents,
        "queries": len(made.judged.queries),
        "judgments": len(made.judged.judgments),
        "unlocated": [asdict(item) for item in made.judged.unlocated],
    }


def _print(made: "Authored") -> None:
    from eval.collections.authoring.author import UNLOCATED

    judged = made.judged
    for item in judged.unlocated:
        nearest = f"; nearest document: {item.nearest}" if item.nearest else ""
        question = f"{item.question}: " if item.question else ""
        click.echo(f"line {item.line}: {question}{item.why}{nearest}")
    if judged.unlocated:
        listed = made.card.parent / UNLOCATED
        click.echo(f"{len(judged.unlocated)} questions could not be placed; they are in {listed}")
    counts = f"{made.documents} documents, {len(judged.queries)} queries"
    click.echo(f"collection {made.name}: {counts}, {len(judged.judgments)} judgments")
    click.echo(f"card:     {made.card}")
    click.echo(f"pipeline: {made.pipeline}")
    if not judged.queries:
        click.echo("no queries yet: the card says how to add them")
