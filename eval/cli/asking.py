"""What commands print of calls to a language model: those to come, and those that were made."""

from typing import TYPE_CHECKING

import click

from assay.eval.cli.output import print_places
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.llm.asked_runs import AskedRuns, R
    from assay.eval.llm.job import Forecast
    from assay.eval.llm.session import CostLedger, DryRun
    from assay.eval.report.blocks import Report


def print_expected(forecast: "Forecast[DryRun]") -> None:
    """Print how many answers are known and what the others should cost."""
    from assay.eval.llm.session import PRICE_LIST

    counted = forecast.counted
    click.echo(
        f"{forecast.what}: {counted.known} answers known, {counted.to_ask} to ask"
        f" {counted.model.name}"
    )
    usage = counted.usage
    click.echo(f"about {usage.prompt:,} tokens of prompts, {usage.output:,} of answers")
    if counted.charged is None:
        click.echo("prices: not known; --prices gives them")
    elif counted.charged:
        click.echo(
            f"about {counted.usd:.4f} USD, at most {counted.worst_usd:.4f} USD by the bytes sent"
            f" (prices of {PRICE_LIST}, unless given; nothing read from the provider's cache)"
        )


def print_calls(ledger: "CostLedger") -> None:
    """Print what calls were made, by this command and before."""
    run, earlier = ledger.run, ledger.earlier
    click.echo(
        f"sent    {run.calls} calls, {run.usage.prompt:,} + {run.usage.output:,} tokens,"
        f" {run.usd:.4f} USD; earlier {earlier.calls} calls, {earlier.usd:.4f} USD"
    )
    lost = run + earlier
    if lost.lost:
        click.echo(
            f"        {lost.lost} calls brought no answer and may have cost {lost.lost_usd:.4f} USD"
        )


def print_ledger(ledger: "CostLedger") -> None:
    """Print what calls were made, by this command and before, and what is left of the budget."""
    print_calls(ledger)
    if ledger.budget is not None:
        spent = ledger.run.committed_usd + ledger.earlier.committed_usd
        click.echo(f"budget  {spent:.4f} of {ledger.budget:.4f} USD")


def print_asked(found: "AskedRuns[R]", report: "Report", what: str) -> None:
    """Print the report of stored runs, where `what` was found of each lies, and the calls."""
    print_report(report)
    for result, run_id in zip(found.results, found.tracked, strict=True):
        print_places(**{what: result.path}, mlflow_run=run_id)
    if found.ledger:
        print_ledger(found.ledger)
