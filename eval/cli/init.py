"""`assay init`: a folder of documents, and questions about them, become a judged collection."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_next, print_text, show_path
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option, StudyOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.eval.collections.authoring.author import AuthoredCollection
    from assay.retrievers.documents.conversion.converters import CommandSettings


GATES = {"workflow": [str], "test": [str], "package": str}
MADE = {
    **dict.fromkeys(("name", "card", "pipeline", "foresight", "overlap"), str),
    **dict.fromkeys(("documents", "queries", "judgments"), int),
    **dict.fromkeys(("copies", "independent", "project"), options.TEXT),
    "notes": [str],
    "unlocated": [{str: object}],
    "written": bool,
    "skipped": [{"path": str, "reason": str}],
    "test?": str,
    "workflow?": [str],
    "package?": str,
}


class InitOptions(StudyOptions):
    """The options of `assay init`: documents, questions, and what is written."""

    folder: Annotated[Path | None, Argument()] = None
    questions: Path | None = Field(
        None,
        description="A .csv, .tsv, .xlsx or .jsonl: question, quote; optional: document, type, "
        "grade, id.",
    )
    name: str | None = Field(
        None, description="Name of the collection; by default that of --output, else of FOLDER."
    )
    output: Path | None = Field(
        None, description="Where the card goes; by default ./datasets/NAME."
    )
    force: bool = Field(
        False, description="Overwrite a collection that is there, and its pipeline."
    )
    ci: Literal["github", "gitlab"] | None = Field(
        None, description="Also write a job that gates the pipeline, and what .gitignore lacks."
    )
    with_test: Annotated[bool, Option(("--pytest",))] = Field(
        False, description="Also write a test that gates the pipeline."
    )
    converter: Annotated[str | None, Option(metavar="COMMAND")] = Field(
        None, description="A command that reads a file and writes Markdown to standard output."
    )
    suffixes: Annotated[str | None, Option(metavar="LIST")] = Field(
        None,
        description="The files that --converter reads, such as .adoc,.org; by default PDF, Office "
        "and HTML.",
    )
    add: bool = Field(False, description="Add the questions to the collection that is there.")


@click.command()
@takes(InitOptions)
@options.prints(MADE, GATES)
def init(asked: InitOptions, as_json: bool) -> None:
    """Make a judged collection of the documents below FOLDER.

    Markdown and text files stay where they are. Where there are others (PDF, DOCX, PPTX, XLSX,
    CSV, HTML, EPUB, MDX, reStructuredText, notebooks, text that is not UTF-8), or FOLDER or
    --output lies outside the working folder, the text of all is copied into the collection's folder
    docs. What changes in FOLDER later is then converted again.

    The quote of each question is found in the documents and becomes its gold span. Quotes that are
    not found are listed, and written to unlocated.csv: correct its rows, then add them with --add.
    If no quote is found, nothing is written, and the command exits with 2.

    With --ci, in the root of a git repository: run the pipeline, accept the run as the baseline,
    commit, and every change is judged against it. With --pytest the same is a test in
    tests/test_retrieval.py, which needs no git. For a collection that is there, give its folder as
    FOLDER, or none: then the pipelines that assay.toml names are gated, your own retriever too.

    An assay.toml that is written into the working folder, unless it has one, lets `assay run`,
    `compare`, `gate` and `choose` do without paths. The collection must lie below that folder.
    """
    from assay.eval.collections.authoring.author import PIPELINE, find_target
    from assay.eval.collections.authoring.skipped_files import describe_skipped
    from assay.eval.collections.card import FILE
    from assay.eval.studies.gate.package_source import find_package
    from assay.eval.studies.gate.workflows import (
        plan_test,
        plan_workflow,
        write_workflow,
    )
    from assay.eval.studies.ingestion.authoring import add_questions, author_folder
    from assay.retrievers.base import AssayError

    folder, questions, name, output = asked.folder, asked.questions, asked.name, asked.output
    ci, force = asked.ci, asked.force
    used = _choose_converter(asked.converter, asked.suffixes)
    if folder is None or ((folder / FILE).is_file() and not (questions or name or output)):
        _write_gates(folder, ci, with_test=asked.with_test, force=force, as_json=as_json)
        return
    target = find_target(folder, name, output)
    workflow = plan_workflow(ci, target / PIPELINE, force) if ci else {}
    test = plan_test(target / PIPELINE, force) if asked.with_test else {}
    if asked.add:
        if not questions or force or used:
            raise AssayError("--add: goes with --questions, and not with --force or --converter")
        made, read = add_questions(folder, questions, name, output), None
    else:
        made, read = author_folder(folder, questions, name, output, force=force, converter=used)
    if made.written:
        write_workflow(workflow | test)
    project = _write_project(made) if made.written and made.judged.queries else None
    skipped_files = read.skipped if read else ()
    if as_json:
        skipped = [{"path": item.path, "reason": item.reason} for item in skipped_files]
        written = (
            {"workflow": [str(path) for path in workflow], "package": find_package(Path.cwd())}
            if ci and made.written
            else {}
        )
        named = {"project": str(project) if project else None}
        if asked.with_test and made.written:
            named["test"] = str(*test)
        print_json(_describe(made) | named | {"skipped": skipped} | written)
    else:
        for line in describe_skipped(skipped_files):
            click.echo(line)
        for item in read.documents if read else ():
            if item.converted.encoding not in ("", "utf-8"):
                click.echo(f"{item.path}: not in UTF-8, read as {item.converted.encoding}")
        place = [f"--output {shlex.quote(str(output))}"] if output else []
        place += [f"--name {shlex.quote(name)}"] if name else []
        _print(made, folder, project, " ".join(["--add", *place]))
        for path in (*workflow, *test) if made.written else ():
            click.echo(f"written:  {path}")
        if ci and made.written:
            _print_gate(ci, workflow, made.pipeline)
    if not made.written:
        sys.exit(2)


def _write_gates(
    folder: Path | None, ci: str | None, *, with_test: bool, force: bool, as_json: bool
) -> None:
    """Write the job, or the test, that gates pipelines on a collection that is there already."""
    from assay.eval.collections.authoring.author import PIPELINE
    from assay.eval.configs.project import read_project
    from assay.eval.studies.gate.package_source import find_package
    from assay.eval.studies.gate.workflows import plan_test, plan_workflow, write_workflow
    from assay.retrievers.base import AssayError

    project = read_project()
    if not (ci or with_test):
        raise AssayError(
            f"{folder}: is a collection already; allowed: --ci or --pytest, which gate its pipeline"
            if folder
            else "Missing argument 'FOLDER'; only --ci and --pytest, in a project, do without"
        )
    own = folder / PIPELINE if folder else None
    if own and not own.is_file():
        own = None
    if own is None and (project is None or not project.list_pipelines()):
        raise AssayError(
            f"{folder or Path.cwd()}: names no pipeline to gate; allowed: one that has {PIPELINE}, "
            "or an assay.toml with `collection` and `pipelines`"
        )
    gated = None if project else own
    workflow = plan_workflow(ci, gated, force) if ci else {}
    first = Path(project.list_pipelines()[0]) if project else own
    test = plan_test(first, force) if with_test and first else {}
    write_workflow(workflow | test)
    if as_json:
        paths = [str(path) for path in workflow]
        print_json(
            {"workflow": paths, "test": [*map(str, test)], "package": find_package(Path.cwd())}
        )
        return
    for path in (*workflow, *test):
        click.echo(f"written:  {path}")
    if ci:
        _print_gate(ci, workflow, gated)


def _print_gate(ci: str, workflow: "Mapping[Path, str]", pipeline: Path | None) -> None:
    """Print what the job installs, and the steps until it judges."""
    from assay.eval.studies.gate.workflows import describe_package, find_needs, list_own

    print_text(describe_package(ci, Path.cwd()))
    if (own := list_own(pipeline)) and not find_needs(own, Path.cwd()):
        print_text(f"{own[0]} is code of yours: let the job install what it needs, too")
    if ci == "gitlab" and Path(".gitlab-ci.yml") not in workflow:
        click.echo("add to .gitlab-ci.yml: include: [local: .gitlab/assay.yml]")
    run = f"assay run {shlex.quote(show_path(pipeline))}" if pipeline else "assay run"
    print_text(
        f"To arm the gate: `{run}`, then `assay baseline accept RUN`, then commit all of it."
    )


def _choose_converter(command: str | None, suffixes: str | None) -> "CommandSettings | None":
    from assay.retrievers.base import AssayError
    from assay.retrievers.documents.conversion.converters import CommandSettings
    from assay.retrievers.settings import validate

    if command is None:
        if suffixes:
            raise AssayError("--suffixes: goes with --converter")
        return None
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AssayError(f"--converter: {command}: {error}") from None
    values: dict[str, Any] = {"type": "command", "command": words}
    if suffixes:
        values["suffixes"] = [suffix.strip() for suffix in suffixes.split(",")]
    return validate(CommandSettings, values, "--converter")


def _describe(made: "AuthoredCollection") -> dict[str, Any]:
    from assay.eval.collections.groups import describe_groups

    return {
        "name": made.name,
        "card": str(made.card),
        "pipeline": str(made.pipeline),
        "documents": made.documents,
        "notes": made.notes,
        "queries": len(made.judged.queries),
        "judgments": len(made.judged.judgments),
        "unlocated": [item.as_row() for item in made.judged.unlocated],
        "written": made.written,
        "copies": str(made.copies) if made.copies else None,
        "independent": describe_groups(made.judged.groups.values()) or None,
        "foresight": _foretell(made),
        "overlap": _describe_overlap(made),
    }


def _foretell(made: "AuthoredCollection") -> str:
    """Describe the differences that the questions can show; "" without questions."""
    from assay.eval.collections.groups import count_independent, share_touched
    from assay.eval.runs.summary.claims import Claims
    from assay.eval.studies.comparison.differences import foretell

    groups = made.judged.groups
    if not groups:
        return ""
    claims = Claims(groups, share_touched(groups.values(), made.documents))
    independent = count_independent(groups.values()) if claims.leading == "documents" else None
    here = independent is None and not claims.single
    return foretell(len(groups), independent, here=here)


def _describe_overlap(made: "AuthoredCollection") -> str:
    """Describe how many words questions share with answers; "" without questions."""
    from assay.eval.collections.loading import load
    from assay.eval.collections.traits import describe_overlap, find_collection_overlaps

    if not made.written or not made.judged.queries:
        return ""
    return describe_overlap(find_collection_overlaps(load(str(made.card.parent))))


def _write_project(made: "AuthoredCollection") -> Path | None:
    """Write the project file of the working folder; return None if none is written.

    Assay's own checkout stays without: its commands count on the collection that comes with it.
    """
    from assay.eval.collections.authoring.author import refer_to
    from assay.eval.configs.project import write_project
    from assay.retrievers.base.installation import find_checkout

    here = Path.cwd()
    if find_checkout() == here or not made.card.is_relative_to(here):
        return None
    return write_project(refer_to(made.name, made.card.parent), show_path(made.pipeline))


def _print(made: "AuthoredCollection", folder: Path, project: Path | None, adding: str) -> None:
    from assay.eval.collections.authoring.author import UNLOCATED, refer_to
    from assay.eval.collections.groups import describe_groups
    from assay.eval.report.formats import count

    judged = made.judged
    for item in judged.unlocated:
        nearest = f"; nearest document: {item.nearest}" if item.nearest else ""
        if item.nearest_text:
            passage = " ".join(item.nearest_text.split())
            nearest = f"; nearest passage: {item.nearest}:{item.nearest_line}: {passage}"
        asked = item.question
        question = f"{asked.question}: " if asked.question else ""
        print_text(f"line {asked.line}: {question}{item.why}{nearest}", indent=2)
    if not made.written:
        for note in made.notes:
            print_text(note)
        click.echo("no quote was found in the documents; nothing is written")
        return
    if judged.unlocated:
        listed = show_path(made.card.parent / UNLOCATED)
        lost = count(len(judged.unlocated), "quote was", "quotes were")
        print_text(f"{lost} not found in the documents; see {listed}")
    counts = f"{made.documents} documents, {len(judged.queries)} queries"
    click.echo(f"collection {made.name}: {counts}, {len(judged.judgments)} judgments")
    pipeline = shlex.quote(show_path(made.pipeline))
    click.echo(f"card:     {show_path(made.card)}")
    click.echo(f"pipeline: {show_path(made.pipeline)}")
    if project:
        click.echo(f"project:  {project}")
    if made.copies:
        later = (
            "files that change there are converted again"
            if made.followed
            else "what changes there later is not seen"
        )
        click.echo(f"copied:   the text of {folder}, to {show_path(made.copies)}; {later}")
    if judged.queries:
        if shared := describe_groups(judged.groups.values()):
            print_text(f"{shared}.")
        print_text(_foretell(made))
        print_text(_describe_overlap(made))
    for note in made.notes:
        print_text(note)
    dataset = shlex.quote(refer_to(made.name, made.card.parent))
    if project:
        print_next("run", "compare")
    elif judged.queries:
        print_next(f"run {pipeline}", f"compare bm25 {pipeline} --dataset {dataset}")
    else:
        click.echo("It has no questions yet. A language model writes them, or you do, in a table:")
        print_next(
            f"questions {dataset} --provider anthropic --dry-run",
            f"init {shlex.quote(str(folder))} --questions questions.csv {adding}",
        )
