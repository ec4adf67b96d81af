"""What `assay ragas` prints: each metric beside its measure, and where the two disagree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from eval.ragas.results import FILE
from eval.scoring.measures import spoken
from retrievers.language_models.prices import FREE, LISTED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from eval.cli.ragas import Task
    from eval.experiments.llm_client import Estimator
    from eval.ragas.beside import Beside
    from eval.ragas.results import Result
    from eval.statistics.estimates import Estimate
    from retrievers.language_models.ledger import Ledger

WIDTH = 112  # columns that the table needs
NAMED = 3  # queries shown on which a metric and its measure disagree most
EXCERPT = 60  # characters of a query


def results_as_json(
    results: "Sequence[Result]", tracked: Sequence[str | None], ledger: "Ledger | None"
) -> dict[str, Any]:
    """Return all results as JSON values."""
    runs = [
        {**result.as_json(), "file": str(result.run.folder / FILE), "mlflow_run": run_id}
        for result, run_id in zip(results, tracked, strict=True)
    ]
    return {"runs": runs, "asked": ledger and _account(ledger)}


def print_results(
    results: "Sequence[Result]", tracked: Sequence[str | None], ledger: "Ledger | None"
) -> None:
    """Print all results."""
    from rich.console import Console

    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    for result, run_id in zip(results, tracked, strict=True):
        _print_result(console, result)
        click.echo(f"scores  {result.run.folder / FILE}")
        if run_id:
            click.echo(f"MLflow  run {run_id}")
    click.echo(
        "Intervals: 95 %, bootstrap over queries. τ: Kendall's tau-b of the two scores over"
        " queries.\ndiffer: queries whose scores differ. docs/ragas.md explains where, and why."
    )
    if ledger:
        _print_ledger(ledger)


def estimate_as_json(task: "Task", expected: "Estimator") -> dict[str, Any]:
    """Return a dry run as JSON values."""
    charged = expected.prices is not None
    return {
        "runs": [run.manifest.id for run, _ in task.samples],
        "metrics": [metric.name for metric in task.metrics if metric.judged],
        "queries": sum(len(samples) for _, samples in task.samples),
        "model": expected.model.name,
        "known_before": expected.known,
        "to_ask": expected.to_ask,
        "estimate": {
            "tokens": {"input": expected.usage.input, "output": expected.usage.output},
            "usd": expected.usd if charged else None,
            "worst_usd": expected.worst_usd if charged else None,
        },
    }


def print_estimate(task: "Task", expected: "Estimator") -> None:
    """Print a dry run."""
    queries = sum(len(samples) for _, samples in task.samples)
    click.echo(
        f"{queries} queries, {task.k} hits each: {expected.known} answers known,"
        f" {expected.to_ask} to ask {expected.model.name}"
    )
    usage = expected.usage
    click.echo(f"about {usage.input:,} tokens of prompts, {usage.output:,} of answers")
    if expected.prices is None:
        click.echo("prices: not known; --prices gives them")
    elif expected.prices != FREE:
        click.echo(
            f"about {expected.usd:.4f} USD, at most {expected.worst_usd:.4f} USD by the bytes sent"
            f" (prices of {LISTED}, unless given; nothing read from the provider's cache)"
        )


def _print_result(console: "Console", result: "Result") -> None:
    manifest = result.run.manifest
    sample = "" if result.queries == len(result.run.queries) else ", a sample"
    judge = f", judged by {result.judge}" if result.judge else ""
    console.print(
        f"{manifest.id}: first {result.k} hits of {result.queries} queries{sample}{judge}",
        markup=False,
        soft_wrap=True,
    )
    console.print(_table(result.found))
    for item in result.found:
        _print_gaps(console, item, result.queries)


def _table(found: "Sequence[Beside]") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("ragas", no_wrap=True)
    for title in ("mean", "95 % interval", "n"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("nearest", no_wrap=True)
    for title in ("its mean", "τ", "differ"):
        table.add_column(title, justify="right", no_wrap=True)
    for item in found:
        table.add_row(
            item.metric.name,
            _number(item.mean),
            f"{item.mean.low:.3f} – {item.mean.high:.3f}" if item.mean else "–",
            str(len(item.scores.values)),
            spoken(item.measure) or "none",
            _number(item.measure_mean),
            "–" if item.tau is None else f"{item.tau:+.2f}",
            "–" if item.differ is None else str(item.differ),
        )
    return table


def _print_gaps(console: "Console", item: "Beside", queries: int) -> None:
    """Print what has no score or none of ragas', and the queries of the greatest disagreement."""
    lines = [
        f"{count} of {queries} without a score: {why}" for why, count in item.scores.reasons.items()
    ]
    if item.scores.empty and item.mean:
        lines.append(f"{len(item.scores.empty)} of {queries} had no hit and score 0")
    if item.differ:
        lines.append(f"{item.metric.relation}; most on")
    lines += [
        f"  {gap.query}: {gap.ragas:.3f}, {spoken(item.measure)} {gap.measure:.3f}"
        f"  {gap.text if len(gap.text) <= EXCERPT else gap.text[: EXCERPT - 1] + '…'}"
        for gap in item.disagreements[:NAMED]
    ]
    for number, line in enumerate(lines):
        start = f"{item.metric.name}: " if number == 0 else "  "
        console.print(start + " ".join(line.split("\n")), markup=False, soft_wrap=True)


def _number(estimate: "Estimate | None") -> str:
    return f"{estimate.value:.3f}" if estimate else "–"


def _account(ledger: "Ledger") -> dict[str, Any]:
    return {
        "run": ledger.run.as_json(),
        "earlier": ledger.earlier.as_json(),
        "budget_usd": ledger.budget,
    }


def _print_ledger(ledger: "Ledger") -> None:
    run, earlier = ledger.run, ledger.earlier
    click.echo(
        f"asked   {run.calls} calls, {run.usage.prompt:,} + {run.usage.output:,} tokens,"
        f" {run.usd:.4f} USD; earlier {earlier.calls} calls, {earlier.usd:.4f} USD"
    )
    lost = run + earlier
    if lost.lost:
        click.echo(
            f"        {lost.lost} calls brought no answer and may have cost {lost.lost_usd:.4f} USD"
        )
    if ledger.budget is not None:
        spent = run.committed_usd + earlier.committed_usd
        click.echo(f"budget  {spent:.4f} of {ledger.budget:.4f} USD")
