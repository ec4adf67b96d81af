"""`assay contexts`: contexts from a language model (Anthropic's contextual retrieval)."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import present

if TYPE_CHECKING:
    from assay.eval.llm.job import Estimate, Forecast
    from assay.eval.studies.ingestion.contexts import ContextJob, ContextResult

NAMED = 5  # chunks without a context that are shown by name


@click.command()
@click.argument("collection")
@click.option(
    "--config",
    default="contextual",
    show_default=True,
    help="The pipeline whose chunks get contexts.",
)
@options.language_model("these chunks over all runs", "Longest context.  [default: 100]")
@click.option(
    "--window-tokens",
    type=options.at_least(500),
    help="Longest prompt; of longer documents a part is shown.  [default: the model's]",
)
@click.option("--output", type=click.Path(path_type=Path), help="The file to write or replace.")
@options.DRY_RUN
@options.JSON
def contexts(
    collection: str,
    config: str,
    window_tokens: int | None,
    output: Path | None,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Add context written by a language model to the chunks of COLLECTION.

    Each call sends a whole document and one of its chunks. Replies are kept: an interrupted run
    resumes, and nothing is paid for twice. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY
    alone. Free, and without a model: documents.context.source=headings, or opening.
    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.ingestion.contexts import (
        estimate,
        make_session,
        prepare_job,
        run_job,
    )
    from assay.retrievers.base import AssayError

    session = make_session(asked, make_resources(), dry_run=dry_run)
    job = prepare_job(collection, config, session, window_tokens)
    if dry_run:
        present(estimate(job), as_json, partial(_print_forecast, job))
        return
    result = run_job(job, output)
    present(result, as_json, _print_result)
    if result.failure:
        raise AssayError(result.failure)


def _print_forecast(job: "ContextJob", forecast: "Forecast[Estimate]") -> None:
    expected = forecast.counted
    _print_head(job)
    click.echo("about, if all goes well:")
    _print_tokens(job.itemise(expected.usage), expected.usd if job.charged else None)
    if expected.worst_usd:
        click.echo(f"at most, by the bytes sent: {expected.worst_usd:.4f} USD")


def _print_result(result: "ContextResult") -> None:
    job, outcome = result.job, result.outcome
    run, before = outcome.ledger.run, outcome.ledger.earlier
    _print_head(job)
    if run.calls:
        _print_tokens(job.itemise(run.usage), run.usd if job.charged else None)
    _print_lost("this run", run.lost, run.lost_usd)
    if before.calls:
        click.echo(f"earlier runs: {before.calls} calls, {before.usd:.4f} USD")
        _print_lost("earlier runs", before.lost, before.lost_usd)
    if (budget := job.session.settings.max_cost_usd) is not None:
        spent = run.committed_usd + before.committed_usd
        click.echo(f"budget: {spent:.4f} of {budget:.4f} USD")
    cut = f", {result.cut} cut off at max_tokens" if result.cut else ""
    click.echo(f"contexts: {len(result.texts)} of {len(job.plan.keys)} chunks{cut}")
    if outcome.narrowed:
        click.echo(f"{outcome.narrowed} prompts did not fit and were sent with less of the text")
    for why, count in Counter(result.without.values()).items():
        chunks = [chunk for chunk, reason in result.without.items() if reason == why]
        more = ", …" if count > NAMED else ""
        click.echo(f"without one: {count} chunks ({why}): {', '.join(chunks[:NAMED])}{more}")
    if result.path:
        click.echo(f"wrote {result.path}")
        click.echo(result.next_step)


def _print_head(job: "ContextJob") -> None:
    from assay.eval.llm.session import PRICE_LIST

    plan = job.plan
    click.echo(
        f"{job.card.name}: {len(plan.keys)} chunks, {job.known} known, {job.pending} to ask"
        f" {job.session.model.name} (window {plan.window} tokens)"
    )
    if plan.windowed:
        click.echo(
            f"{len(plan.windowed)} documents are longer than that: of these, the opening and what"
            " surrounds the chunk are shown"
        )
    if plan.alone:
        click.echo(f"{plan.alone} chunks are all of their document: there is nothing to add")
    prices = job.session.prices
    if prices is None:
        click.echo("prices: not known; --prices gives them")
    elif job.charged:
        source = "as given" if job.session.settings.prices else f"list of {PRICE_LIST}"
        step = f", for prompts up to {prices.step} tokens" if prices.step else ""
        each = (prices.input, prices.cache_write, prices.cache_read, prices.output)
        rates = " / ".join(f"{price:g}" for price in each)
        click.echo(f"prices: {rates} USD per million tokens ({source}{step})")


def _print_tokens(items: Sequence[tuple[str, int, float | None]], total: float | None) -> None:
    for kind, tokens, usd in items:
        cost = "" if usd is None else f"{usd:>12.4f} USD"
        click.echo(f"  {kind.replace('_', ' '):<12}{tokens:>14,} tokens{cost}")
    if total is not None:
        click.echo(f"  {'total':<12}{total:>33.4f} USD")


def _print_lost(when: str, calls: int, usd: float) -> None:
    if calls:
        click.echo(f"{when}: {calls} calls brought no answer and may have cost {usd:.4f} USD")
