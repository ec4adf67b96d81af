"""`assay answer`: answers from what runs returned, and their scores."""

from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_expected, print_ledger
from assay.eval.cli.output import make_console, make_table, present, print_places, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from assay.eval.runs.summary.generated_answers import Answers
    from assay.eval.statistics.estimates import Estimate
    from assay.eval.studies.answers.running import AnswersOutcome


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [KEY.PATH=VALUE]...")
@options.dataset("runs")
@click.option(
    "--context-tokens",
    type=options.at_least(1),
    help="Of passages in a prompt, for runs without a stage `context`.  [default: 4500]",
)
@options.LIMIT
@options.language_model("these runs and this model", "Longest answer.  [default: 400]")
@options.DRY_RUN
@options.NO_TRACK
@options.JSON
def answer(
    runs: tuple[str, ...],
    context_tokens: int | None,
    limit: int | None,
    dry_run: bool,
    no_track: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Answer every query with a language model, from what runs returned, and score the answers.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, its folder, or the id of a run in MLflow. Answers are kept in
    `answers.jsonl` in the run's folder: nothing is paid for twice, and an interrupted command
    resumes. `assay compare` and the gate then have measures of them: AnswerF1, AnswerEM,
    QuoteShare, CitationP, CitationR, ContextP, ContextR, Abstention. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.answers import running as answers
    from assay.eval.studies.answers.prompts import make_task

    resources = make_resources()
    progress = resources.progress
    session = make_session(asked, answers.PURPOSE, answers.MAX_TOKENS, resources, dry_run=dry_run)
    stored = resolve_all(runs, progress)
    task = make_task(stored, context_tokens, limit, resources)
    if dry_run:
        present(answers.estimate(task, session), as_json, print_expected)
        return
    present(answers.answer(task, session, progress, track=not no_track), as_json, _print_outcome)


def _print_outcome(outcome: "AnswersOutcome") -> None:
    console = make_console()
    for result, run_id in zip(outcome.results, outcome.tracked, strict=True):
        _print_result(console, result)
        print_places(answers=result.path, mlflow_run=run_id)
    click.echo("Intervals: 95 %, Student's over queries. docs/answers.md has the measures.")
    if outcome.ledger:
        print_ledger(outcome.ledger)


def _print_result(console: "Console", result: "Answers") -> None:
    count, of = len(result.answers), len(result.run.queries)
    sample = "" if count == of else f" of {of}, a sample"
    line = f"{result.run.manifest.id}: {count} queries{sample}, answered by {result.recipe.words}"
    console.print(line, markup=False)
    table = make_table("measure", "mean", "95 % interval", "n", whole=True)
    for name, mean in result.means.items():
        table.add_row(name, f"{mean.value:.3f}", f"{mean.low:.3f} – {mean.high:.3f}", str(mean.n))
    print_table(console, table)
    for words, share in result.abstained:
        if share:
            console.print(f"{words}: {_tell(share)}", markup=False)
    console.print(result.bill, markup=False)


def _tell(share: "Estimate") -> str:
    return f"{share.value:.3f} ({share.low:.3f} – {share.high:.3f}, n = {share.n})"
