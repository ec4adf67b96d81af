"""`assay label`: the judgments of a filled-in table become part of its collection."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option, StudyOptions
from assay.eval.running.study_options import LARGEST

if TYPE_CHECKING:
    from assay.eval.collections.authoring.labelling import LabelledCollection
    from assay.eval.collections.authoring.labels import Labels
    from assay.eval.collections.collection import Collection
    from assay.eval.collections.formats.rows import Row
    from assay.eval.collections.problems import Problem
    from assay.eval.studies.judging.export import GradedTable


PAGE = {"address": str, "grades": str}
LABELLED = {
    "ok": bool,
    **dict.fromkeys(("added", "unfilled", "known", "by_model?"), int),
    "card": options.TEXT,
    "files": [str],
    "page?": {"judges": {str: int}, "open": int},
}


class LabelOptions(StudyOptions):
    """The options of `assay label`: the table, where its judgments go, and the page."""

    file: Annotated[Path, Argument(), Option(path="file")]
    collection: Annotated[str | None, Option(("--dataset", "--collection"))] = Field(
        None, description="Collection that was judged.  [default: what the column collection says]"
    )
    output: Path | None = Field(
        None,
        description="Leave the collection as it is and write a copy with the judgments, of the "
        "same format.",
    )
    highest: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description="The highest grade there is; by default the highest given in the collection.",
    )
    serve: bool = Field(False, description="Open a page to judge on; Ctrl-C ends it.")
    judge: Annotated[str | None, Option(metavar="NAME")] = Field(
        None, description="Who judges on the page."
    )
    port: int = Field(0, ge=0, le=65535, description="Port; 0 picks a free one.  [default: 0]")
    seed: int = Field(
        0,
        ge=0,
        le=LARGEST,
        description="Of the order in which the page shows pairs.  [default: 0]",
    )


@click.command()
@takes(LabelOptions)
@options.prints(LABELLED, {"ok": bool, "problems": ["eval.collections.problems:Problem"]}, PAGE)
def label(asked: LabelOptions, as_json: bool) -> None:
    """Add the judgments in FILE, a table of `assay pool` with its grades filled in.

    With --serve, people judge its pairs on a page of this machine, which shows nothing of runs or
    ranks. Their grades are kept next to FILE, and called without --serve the command adds those
    too: where several judged a pair, if they agree or have settled it. Where no person has judged,
    the last grade by `assay judge` is taken, and marked as the model's.

    Grades run from 0, not relevant, to the highest of the collection. Rows without a grade are
    skipped. Every row is checked first: if any is wrong, all wrong rows are listed, nothing is
    written, and the exit code is 2.

    The judgments go into the files of a native collection that lies below this folder or in the
    project, and its card is sealed again. For any other, --output makes a copy.
    """
    from assay.eval.collections.authoring import worksheet
    from assay.eval.collections.authoring.labelling import (
        add_in_place,
        add_to_copy,
        finish_labelling,
    )
    from assay.eval.collections.authoring.labels import (
        check_labels,
        find_collection,
        find_highest_grade,
    )
    from assay.eval.collections.catalog import find
    from assay.eval.collections.loading import load_card
    from assay.eval.collections.problems import Problems
    from assay.retrievers.store.locks import changing

    file, output, highest = asked.file, asked.output, asked.highest
    rows = worksheet.read(file)
    name = asked.collection or find_collection(file, rows)
    card, variant = find(name)
    card = finish_labelling(card)
    if asked.serve:
        with changing(card.folder):  # or its files are read while another process adds to them
            judged = load_card(*find(name), unjudged=True)
        _serve(asked, rows, judged, _check_judge(asked.judge), as_json)
        return
    with changing(output or card.folder):
        card, variant = find(name)  # another process may have sealed it again
        judged = load_card(card, variant, unjudged=True)
        rows, filled, by_model = _fill_in(file, rows, judged)
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
    _report(labels, made, filled, by_model, as_json)


def _check_judge(judge: str | None) -> str:
    """Return the name of the judge on the page. Raises AssayError for none or an invalid one."""
    from assay.retrievers.base import AssayError

    if judge is None or not re.fullmatch(r"\w(?:[\w .@-]{0,38}\w)?", judge):
        raise AssayError(
            "--serve needs --judge NAME: up to 40 letters, digits, blanks and . _ - @"
            + ("" if judge is None else f", not {judge[:60]!r}")
        )
    return judge


def _serve(
    asked: LabelOptions, rows: "list[Row]", collection: "Collection", judge: str, as_json: bool
) -> None:
    """Serve the page to judge on until Ctrl-C."""
    from contextlib import closing, suppress

    from assay.eval.studies.judging.annotation_session import AnnotationSession
    from assay.eval.studies.judging.export import find_grade_file
    from assay.eval.studies.judging.grades import GradeFile
    from assay.eval.studies.judging.server import JudgingServer
    from assay.eval.studies.judging.sheet import make_sheet

    sheet = make_sheet(rows, collection, asked.highest)
    with (
        closing(GradeFile(find_grade_file(asked.file))) as grades,
        JudgingServer(AnnotationSession(sheet, grades, judge, asked.seed), asked.port) as server,
        suppress(KeyboardInterrupt),
    ):
        if as_json:
            print_json({"address": server.address, "grades": str(grades.path)})
        else:
            click.echo(f"{len(sheet.pairs)} pairs, judged by {judge}: {server.address}")
            click.echo(f"Grades are kept in {grades.path}. Ctrl-C ends the page.")
        server.serve_forever()


def _fill_in(
    file: Path, rows: "list[Row]", collection: "Collection"
) -> "tuple[list[Row], GradedTable | None, int]":
    """Return the rows with grades of people on the page, else of a model; the page's table or None;
    and the number of grades of the model.
    """
    from contextlib import closing

    from assay.eval.studies.judging.export import fill_in, find_grade_file
    from assay.eval.studies.judging.grades import GradeFile
    from assay.eval.studies.judging.model_grades import fill_in_models, find_model_file, take_latest

    filled, people = None, set[str]()
    if (path := find_grade_file(file)).exists():
        with closing(GradeFile(path)) as grades:
            filled = fill_in(rows, collection, grades)
            people = set(grades.read_grades())
        rows = filled.rows
    if not (path := find_model_file(file)).exists():
        return rows, filled, 0
    with closing(GradeFile(path)) as grades:
        given = take_latest(grades.read_grades())
    rows, count = fill_in_models(rows, collection, given, people)
    return rows, filled, count


def _report_wrong(file: Path, found: "list[Problem]", as_json: bool) -> None:
    if as_json:
        print_json({"ok": False, "problems": found})
        return
    for problem in found:
        click.echo(str(problem), err=True)
    rows = "1 row is" if len(found) == 1 else f"{len(found)} rows are"
    click.echo(f"assay: {file}: {rows} wrong; nothing was written", err=True)


def _report(
    labels: "Labels",
    made: "LabelledCollection | None",
    filled: "GradedTable | None",
    by_model: int,
    as_json: bool,
) -> None:
    if as_json:
        marked = {"by_model": by_model} if by_model else {}
        print_json(_describe(labels, made, filled) | marked)
        return
    if filled:
        given = ", ".join(f"{judge} {count}" for judge, count in filled.judges.items()) or "none"
        click.echo(f"grades of the page: {given}; not settled: {filled.open}")
    if by_model:
        click.echo(f"grades of a model, where no person gave one: {by_model}")
    if made is None:
        click.echo("No new judgment: nothing was written.")
    else:
        files = ", ".join(map(str, made.files))
        click.echo(f"{len(labels.new)} judgments added to {made.card.name}: {files}")
        click.echo(f"{made.card.path}: sealed")
    click.echo(f"rows without a grade: {labels.unfilled}; judged so before: {labels.known}")


def _describe(
    labels: "Labels", made: "LabelledCollection | None", filled: "GradedTable | None"
) -> dict[str, Any]:
    page = {"page": {"judges": filled.judges, "open": filled.open}} if filled else {}
    return page | {
        "ok": True,
        "added": len(labels.new),
        "unfilled": labels.unfilled,
        "known": labels.known,
        "card": str(made.card.path) if made else None,
        "files": [str(path) for path in made.files] if made else [],
    }
