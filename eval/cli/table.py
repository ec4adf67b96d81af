"""The tables a run ends with."""

from typing import TYPE_CHECKING

from eval.analysis.summary import Summary, explain_open
from eval.cli.output import make_console, make_table, print_table
from eval.report.formats import interval, retried
from eval.runs.ann_recall import EXPLANATION, find_recalls
from eval.runs.latency import TOTAL
from eval.runs.stored import describe_without_hits
from eval.scoring.measures import find
from eval.statistics.estimates import OpenEstimate

if TYPE_CHECKING:
    from rich.table import Table


def print_summary(summary: Summary, reused: bool = False) -> None:
    """Print measures and latencies with their intervals."""
    console = make_console()
    manifest = summary.run.manifest
    count = len(summary.run.queries)
    sample = ", a sample" if manifest.sampled else ""
    console.print(
        f"{manifest.name} on {manifest.collection.name} (n = {count}{sample})", style="bold"
    )
    if silent := describe_without_hits(summary.run):
        console.print(silent, style="bold red")
    print_table(console, _measures(summary))
    if summary.latency:
        print_table(console, _latency(summary))
        if few := explain_open(summary.latency[TOTAL]):
            console.print(f"{few}.", style="yellow", soft_wrap=True)
    for leg, recall in find_recalls(manifest.facts).items():
        console.print(f"{leg}: {EXPLANATION} {recall:.3f}", style="yellow", markup=False)
    for line in summary.cautions:
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    for line, queries in manifest.degraded.items():
        console.print(f"degraded on {queries} of {count} queries: {line}", style="bold red")
    if manifest.retries:
        console.print(f"{retried(manifest.retries)}.", style="yellow")
    if reused:
        console.print(f"Nothing has changed since {manifest.created}; --again measures again.")


def _measures(summary: Summary) -> "Table":
    table = _table("measure", "mean", "95 % interval")
    for name, mean in summary.means.items():
        digits = find(name).kind.digits
        table.add_row(find(name).spoken, f"{mean.value:.{digits}f}", _interval(mean, digits))
    for words, share in summary.answering.rows if summary.answering else ():
        table.add_row(f"{words} (n = {share.n})", f"{share.value:.3f}", _interval(share, 3))
    return table


def _latency(summary: Summary) -> "Table":
    table = _table("ms a query", "p50", "p95", "p99", "95 % interval of p95")
    for stage, figures in summary.latency.items():
        values = [f"{figures[name].value:.2f}" for name in ("p50", "p95", "p99")]
        label = f"all (n = {figures['p95'].n})" if stage == TOTAL else f"  {stage}"
        table.add_row(label, *values, _interval(figures["p95"], 2))
    return table


def _table(first: str, *others: str) -> "Table":
    table = make_table(first, *others, whole=True)
    table.columns[0].no_wrap, table.columns[0].min_width = False, 18
    return table


def _interval(estimate: OpenEstimate, digits: int) -> str:
    return interval(estimate, f"{{:.{digits}f}}".format)
