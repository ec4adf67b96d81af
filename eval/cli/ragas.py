"""`assay ragas`: the metrics of ragas on stored runs, beside the measures of retrieval."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_expected, print_ledger
from assay.eval.cli.output import make_console, make_table, present, print_places, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.statistics.estimates import Estimate
    from assay.eval.studies.ragas.beside import Beside
    from assay.eval.studies.ragas.results import RagasResult
    from assay.eval.studies.ragas.running import RagasScores

NAMED = 3  # queries shown on which a metric and its measure disagree most
EXCERPT = 60  # characters of a query


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [KEY.PATH=VALUE]...")
@options.dataset("runs")
@click.option("--metrics", help="By ragas' names, separated by commas.  [default: all]")
@click.option(
    "-k", default=5, type=options.at_least(1), help="How many hits count.", show_default=True
)
@click.option("--answers", is_flag=True, help="Of `assay answer`, with the context of each.")
@click.option("--limit", type=options.at_least(1), help="Only so many queries, evenly spaced.")
@options.language_model(
    "these runs and this model",
    "Longest answer.  [default: 1024]",
    required=False,
    use="Also the metrics that ask a language model. ",
)
@options.DRY_RUN
@options.NO_TRACK
@options.JSON
def ragas(
    runs: tuple[str, ...],
    metrics: str | None,
    k: int,
    answers: bool,
    limit: int | None,
    dry_run: bool,
    no_track: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Score runs with ragas, each metric beside the nearest measure.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, its folder, or the id of a run in MLflow. Without --provider no
    model is called. Replies of a model are kept: nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone. Needs the extra `ragas`.
    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.ragas.metrics import choose
    from assay.eval.studies.ragas.running import RagasTask, estimate, make_session, score
    from assay.eval.studies.ragas.samples import make_answered_samples, make_samples

    names = options.split_names(metrics) if metrics else []
    chosen = choose(names, judge=bool(asked["provider"]), answers=answers)
    resources = make_resources()
    progress = resources.progress
    session = make_session(asked, resources, dry_run=dry_run)
    stored = resolve_all(runs, progress)
    samples = [
        (run, make_answered_samples(run, limit) if answers else make_samples(run, k, limit))
        for run in stored
    ]
    task = RagasTask(chosen, None if answers else k, samples)
    if session and dry_run:
        present(estimate(task, session), as_json, print_expected)
        return
    present(score(task, session, progress, track=not no_track), as_json, _print_scored)


def _print_scored(scored: "RagasScores") -> None:
    console = make_console()
    for result, run_id in zip(scored.results, scored.tracked, strict=True):
        _print_result(console, result)
        print_places(scores=result.path, mlflow_run=run_id)
    click.echo(
        "Intervals: 95 %, Student's over queries. τ: Kendall's tau-b of the two scores over"
        " queries.\ndiffer: queries whose scores differ. docs/ragas.md explains where, and why."
    )
    if scored.ledger:
        print_ledger(scored.ledger)


def _print_result(console: "Console", result: "RagasResult") -> None:
    manifest = result.run.manifest
    sample = "" if result.queries == len(result.run.queries) else ", a sample"
    shown = "answers and contexts" if result.k is None else f"first {result.k} hits"
    judge = f", judged by {result.judge}" if result.judge else ""
    console.print(
        f"{manifest.id}: {shown} of {result.queries} queries{sample}{judge}",
        markup=False,
    )
    print_table(console, _table(result.found))
    for item in result.found:
        _print_gaps(console, item, result.queries)


def _table(found: "Sequence[Beside]") -> "Table":

    figures = ("mean", "95 % interval", "n", "nearest", "its mean", "τ", "differ")
    table = make_table("ragas", *figures, left=("nearest",), whole=True)
    for item in found:
        table.add_row(
            item.metric.name,
            _number(item.mean),
            f"{item.mean.low:.3f} – {item.mean.high:.3f}" if item.mean else "–",
            str(len(item.scores.values)),
            item.measure or "none",
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
        f"  {gap.query}: {gap.ragas:.3f}, {item.measure} {gap.measure:.3f}"
        f"  {gap.text if len(gap.text) <= EXCERPT else gap.text[: EXCERPT - 1] + '…'}"
        for gap in item.disagreements[:NAMED]
    ]
    for number, line in enumerate(lines):
        start = f"{item.metric.name}: " if number == 0 else "  "
        console.print(start + " ".join(line.split("\n")), markup=False)


def _number(estimate: "Estimate | None") -> str:
    return f"{estimate.value:.3f}" if estimate else "–"
