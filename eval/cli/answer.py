"""`assay answer`: answers from what runs returned, and their scores."""

from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_asked, print_expected
from assay.eval.cli.output import present

if TYPE_CHECKING:
    from assay.eval.llm.asked_runs import AskedRuns
    from assay.eval.runs.summary.generated_answers import Answers


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
@options.FULL
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


def _print_outcome(outcome: "AskedRuns[Answers]") -> None:
    from assay.eval.studies.answers.report import report

    print_asked(outcome, report(outcome), "answers")
