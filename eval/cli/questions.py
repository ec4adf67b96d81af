"""`assay questions`: documents without questions become a judged collection."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_expected, print_ledger
from assay.eval.cli.output import present, print_next, print_text, print_warnings
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.llm.job import Forecast
    from assay.eval.llm.session import DryRun
    from assay.eval.studies.questions.job import QuestionJob
    from assay.eval.studies.questions.running import QuestionsResult


@click.command()
@click.argument("documents", metavar="FOLDER|COLLECTION")
@options.OVERRIDES
@click.option(
    "--number",
    type=options.at_least(1),
    default=100,
    show_default=True,
    help="Questions to ask for; fewer pass the tests.",
)
@click.option("--types", help="By name, separated by commas, in equal shares.  [default: all]")
@click.option("--personas", type=options.FILE, help="YAML: who asks, and in what situation.")
@click.option("--seed", type=options.at_least(0), default=0, show_default=True, help="Of the draw.")
@options.share(
    "--max-overlap",
    0.5,
    "Drop a question if a larger share of its three-word sequences is in the passage.",
)
@options.share(
    "--max-similarity", 0.92, "Drop a question whose cosine with an earlier one is above this."
)
@options.share("--review", 0.1, "Share that is marked for a person to look at.")
@click.option(
    "--config",
    default="hybrid",
    show_default=True,
    help="The pipeline by whose legs questions are tested; KEY.PATH=VALUE changes it.",
)
@click.option("--name", help="Name of the new collection.  [default: NAME-questions]")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the card goes.  [default: ./datasets/NAME]",
)
@click.option("--force", is_flag=True, help="Overwrite a collection that is there already.")
@options.language_model("these documents and this model", "Longest reply.  [default: 1024]")
@options.DRY_RUN
@options.FULL
@options.JSON
def questions(
    documents: str,
    overrides: tuple[str, ...],
    number: int,
    types: str | None,
    personas: Path | None,
    seed: int,
    max_overlap: float,
    max_similarity: float,
    review: float,
    config: str,
    name: str | None,
    output: Path | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Write questions about the documents below FOLDER, or of COLLECTION, with a language model.

    Passages are drawn over all documents and sections. For each the model writes a question, with
    the words that answer it. Questions are dropped and counted if their quotes are not found, if
    they copy or reveal the passage, if the quotes do not answer them, if a model knows the answer
    without them, or if they repeat another. The rest becomes a judged collection. A share of it is
    marked for review by a person: review.csv, for `assay label`.

    Replies are kept: an interrupted run resumes, and nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    from assay.eval.cli.skipped_files import describe_skipped
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.studies.questions.files import (
        REVIEW,
        check_target,
        find_target,
        write_set,
    )
    from assay.eval.studies.questions.job import (
        MAX_TOKENS,
        PURPOSE,
        QuestionSpec,
        prepare_job,
    )
    from assay.eval.studies.questions.kinds import choose_kinds
    from assay.eval.studies.questions.personas import read_personas
    from assay.eval.studies.questions.running import estimate, write_questions
    from assay.eval.studies.questions.sources import open_documents

    spec = QuestionSpec(
        number=number,
        kinds=choose_kinds(options.split_names(types) if types else []),
        personas=read_personas(personas) if personas else [],
        seed=seed,
        max_overlap=max_overlap,
        max_similarity=max_similarity,
        review=review,
    )
    resources = make_resources()
    session = make_session(asked, PURPOSE, MAX_TOKENS, resources, dry_run=dry_run)
    source = open_documents(documents, resources)
    target = find_target(source, name, output)
    if not as_json:
        for line in describe_skipped(source.skipped):
            click.echo(line)
    if not dry_run:
        check_target(target, force)
    job = prepare_job(source.documents, spec, config, overrides, session)
    if dry_run:
        present(estimate(job), as_json, partial(_print_forecast, job))
        return
    result = write_questions(job)
    card = write_set(target, result, force=force) if result.made.kept else None
    present(result, as_json, _print_result, card=card)
    if card is None:
        sys.exit(2)
    if not as_json:
        print_next(f"label {target.folder / REVIEW} --serve --judge NAME")


def _print_forecast(job: "QuestionJob", forecast: "Forecast[DryRun]") -> None:
    from assay.eval.studies.questions.report import describe_job, warn

    print_text(", ".join(describe_job(job)))
    print_warnings(warn(job))
    print_expected(forecast)


def _print_result(result: "QuestionsResult") -> None:
    from assay.eval.collections.groups import count_independent
    from assay.eval.studies.comparison.differences import foretell
    from assay.eval.studies.questions.report import report

    print_report(report(result))
    if groups := result.made.groups:
        print_text(foretell(len(groups), count_independent(groups)))
    if result.ledger:
        print_ledger(result.ledger)
