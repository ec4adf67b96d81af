"""`assay judge`: grade a pool with a language model, and compare its grades with people's."""

from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_calls, print_expected
from assay.eval.cli.output import print_json, print_next
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.llm.job import Forecast
    from assay.eval.llm.session import DryRun
    from assay.eval.studies.judging.running import JudgingJob, JudgingOutcome


@click.command()
@click.argument("pool", metavar="POOL|COLLECTION")
@click.argument("runs", nargs=-1, metavar="[RUN]... [KEY.PATH=VALUE]...")
@click.option(
    "--dataset",
    "--collection",
    "collection",
    help="Collection that is judged.  [default: what the pool's column says]",
)
@click.option(
    "--output",
    type=options.FILE,
    help="Of a collection: the table of its judged pairs.  [default: NAME.judged.csv]",
)
@click.option(
    "--queries", type=options.at_least(1), help="Of a collection: so many queries, drawn by chance."
)
@click.option("--guidelines", type=options.FILE, help="What to grade by.  [default: GUIDELINES.md]")
@click.option(
    "--highest",
    type=click.IntRange(1, 9),
    help="The highest grade that counts; by default the highest given in the collection.",
)
@click.option("--spans", is_flag=True, help="Ask for the words that answer, too.")
@click.option(
    "--twice",
    type=options.Fraction(min_open=False),
    default=0.1,
    show_default=True,
    help="The share of pairs that is graded twice.",
)
@click.option(
    "--measure", default="nDCG@10", show_default=True, help="What the runs are ranked by."
)
@click.option(
    "--seed", type=options.at_least(0), default=0, help="Of order and draws.  [default: 0]"
)
@options.language_model(
    "these pairs over all calls", "Longest reply.  [default: 50; with --spans 500]"
)
@options.DRY_RUN
@options.FULL
@options.JSON
def judge(
    pool: str,
    runs: tuple[str, ...],
    measure: str,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Grade the pairs of a table of `assay pool` with a language model, blind to runs and ranks.

    Its grades are kept beside the table, apart from people's. `assay label` adds them to the
    collection where no person has judged, marked as the model's. Of a COLLECTION it grades the
    pairs that people have judged, and compares the grades: agreement is printed, and written beside
    the table as JSON and Markdown. With RUNs (configs or stored runs) it reports whether the model
    ranks them as people's grades do. Replies are kept: an interrupted call resumes, and nothing is
    paid for twice. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.studies.judging.model_grades import warn_of_judge
    from assay.eval.studies.judging.report import report
    from assay.eval.studies.judging.running import (
        MAX_TOKENS,
        MAX_TOKENS_QUOTED,
        PURPOSE,
        estimate,
        run_job,
    )
    from assay.eval.studies.judging.tables import (
        examine_grades,
        find_runs,
        open_table,
        write,
    )
    from assay.retrievers.base import AssayError

    resources = make_resources()
    longest = MAX_TOKENS_QUOTED if asked["spans"] else MAX_TOKENS
    session = make_session(asked, PURPOSE, longest, resources, dry_run=dry_run)
    table = open_table(pool, asked, session)
    job = table.job
    families = warn_of_judge(session.model.name, runs)
    for line in families:
        click.echo(f"warning: {line}", err=True)
    warned = {"warnings": families}
    if dry_run:
        forecast = estimate(job)
        print_json(forecast.as_json() | warned) if as_json else _print_forecast(job, forecast)
        return
    # Before any call is paid for: errors in them are reported now.
    stored = find_runs(table, runs, measure, resources.progress)
    outcome = run_job(job)
    if outcome.failure:
        print_json(outcome.as_json() | warned) if as_json else _print_outcome(outcome)
        raise AssayError(outcome.failure)
    found = examine_grades(table, stored, measure)
    written = write(found)
    if as_json:
        files = {"report": str(written[0]), "report_json": str(written[1])}
        print_json(outcome.as_json() | {"agreement": found.judge.as_json()} | files | warned)
        return
    _print_outcome(outcome)
    print_report(report(found.judge))
    click.echo(f"report  {written[0]}\n        {written[1]}")
    if any(i not in table.people for i in job.sheet.by_digest):
        print_next(f"label {job.table}")


def _print_forecast(job: "JudgingJob", forecast: "Forecast[DryRun]") -> None:
    _print_head(job)
    print_expected(forecast)


def _print_head(job: "JudgingJob") -> None:
    twice = sum(one.again for one in job.asked)
    click.echo(
        f"{job.judge}: {len(job.sheet.pairs)} pairs, {twice} of them twice; "
        f"{len(job.known)} grades known, {len(job.pending)} to ask"
    )
    scale = job.scale
    if scale.counted < scale.asked:
        counted = ", ".join(f"{i} as {scale.count(i)}" for i in range(scale.asked + 1))
        click.echo(f"grades count in this collection, whose highest is {scale.counted}: {counted}")


def _print_outcome(outcome: "JudgingOutcome") -> None:
    _print_head(outcome.job)
    print_calls(outcome.ledger)
    for reason, count in outcome.reasons.items():
        click.echo(f"        {count} without a grade: {' '.join(reason.split())}")
