"""The tables a run ends with."""

from typing import TYPE_CHECKING

from assay.eval.cli.output import make_console, make_table, print_table
from assay.eval.report.formats import interval, retried
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import describe_without_hits
from assay.eval.runs.summary.cost import Cost, dollars
from assay.eval.runs.summary.summary import Summary, explain_open
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import OpenEstimate

if TYPE_CHECKING:
    from rich.table import Table

    from assay.eval.studies.ingestion.dry_run import DryRun


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
    if summary.cost:
        print_table(console, _cost(summary.cost))
    for leg, recall in find_recalls(manifest.facts).items():
        console.print(f"{leg}: {EXPLANATION} {recall:.3f}", style="yellow", markup=False)
    for line in filter(None, (summary.models, *summary.cautions)):
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    for line, queries in manifest.degraded.items():
        console.print(f"degraded on {queries} of {count} queries: {line}", style="bold red")
    if manifest.retries:
        console.print(f"{retried(manifest.retries)}.", style="yellow")
    if reused:
        console.print(f"Nothing has changed since {manifest.created}; --rerun measures again.")


def print_dry_run(found: "DryRun") -> None:
    """Print what a run should be billed."""
    console = make_console()
    title = f"{found.config} on {found.collection}: {found.chunks:,} chunks, no query was sent"
    console.print(title, style="bold", markup=False)
    if not found.items:
        console.print("All of it runs on this machine, and costs nothing.")
        return
    table = make_table("part", "what", "number", "unit", "USD", left=("what", "unit"))
    for item in found.items:
        usd = "no price known" if item.usd is None else dollars(item.usd)
        table.add_row(item.part, item.what, f"{item.units:,}", item.unit, usd)
    print_table(console, table)
    total = "not known: give price_usd" if found.usd is None else f"{dollars(found.usd)} USD"
    console.print(f"In all about {total}; tokens are estimated at 3 bytes each.")


def _measures(summary: Summary) -> "Table":
    table = _table("measure", "mean", "95 % interval")
    for name, mean in summary.means.items():
        digits = find(name).digits
        table.add_row(name, f"{mean.value:.{digits}f}", _interval(mean, digits))
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


def _cost(cost: Cost) -> "Table":
    table = _table("cost", "at the prices of the run")
    for words, text in cost.rows:
        table.add_row(words, text)
    return table


def _table(first: str, *others: str) -> "Table":
    table = make_table(first, *others, whole=True)
    table.columns[0].no_wrap, table.columns[0].min_width = False, 18
    return table


def _interval(estimate: OpenEstimate, digits: int) -> str:
    return interval(estimate, f"{{:.{digits}f}}".format)
