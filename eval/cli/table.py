"""The tables a run ends with."""

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from assay.eval.cli.output import make_console, make_table, print_table, print_text, print_warnings
from assay.eval.report.formats import count, interval, retried
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import describe_degraded, describe_without_hits
from assay.eval.runs.summary.cost import dollars
from assay.eval.runs.summary.summary import Summary, explain_open
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import Estimate, OpenEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from assay.eval.studies.ingestion.dry_run import DryRun

MOST_ROWS = 10  # of measures in one column
LEAST_QUERIES = 10  # of a type whose mean says something


def print_summary(summary: Summary, reused: bool = False, by_type: bool = False) -> None:
    """Print the headline, a table of measures, latency and cost, and what to check.

    With `by_type` also the headline measure of each type of query, and the latency of each step.
    """
    console = make_console()
    run = summary.run
    console.print(_headline(summary), style="bold", markup=False)
    if silent := describe_without_hits(run):
        console.print(silent, style="bold red")
    console.print()
    print_table(console, _measures(summary.means))
    if summary.traffic:
        print_table(console, _measures(summary.traffic.measures, "for the traffic"))
        print_text(summary.traffic.words)
    for words, share in summary.answering.rows if summary.answering else ():
        print_text(f"{words} (n = {share.n}): {share.value:.3f} ({_interval(share, 3)})")
    if by_type and summary.by_type:
        print_table(console, _types(summary))
    elif summary.by_type:
        print_text(_fold_types(summary))
    if summary.latency and by_type:
        print_table(console, _latency(summary))
        if few := explain_open(summary.latency[TOTAL]):
            print_text(f"{few}.", "yellow")
    elif summary.latency:
        print_text(_brief_latency(summary))
    for words, text in summary.cost.rows if summary.cost else ():
        print_text(f"{words}: {text}")
    print_warnings(_list_warnings(summary))
    if summary.unknown_load:
        print_text(summary.unknown_load, "dim")
    if run.manifest.retries:
        print_text(f"{retried(run.manifest.retries)}.")
    if summary.leaks:
        print_text(summary.leaks, "dim")
    if summary.models:
        print_text(f"{summary.models}.", "dim")
    if reused:
        print_text(f"Nothing has changed since {run.manifest.created}; --rerun measures again.")


def _headline(summary: Summary) -> str:
    """Return what was run on what, its headline measure, and what a query takes."""
    manifest = summary.run.manifest
    name = choose_headline(summary.means)
    mean, digits = summary.means[name], find(name).digits
    sample = ", a sample" if manifest.sampled else ""
    line = (
        f"{manifest.name} on {manifest.collection.name} (n = {len(summary.run.queries)}{sample}): "
        f"{name} {mean.value:.{digits}f} ({mean.low:.{digits}f} to {mean.high:.{digits}f})"
    )
    if summary.latency:
        line += f", {summary.latency[TOTAL]['p50'].value:.1f} ms a query"
    return line


def _list_warnings(summary: Summary) -> list[str]:
    """Return what to check before believing the figures, each with what to do."""
    run = summary.run
    recalls = [
        f"{leg}: {EXPLANATION} {recall:.3f}. `assay recall` shows what raises it"
        for leg, recall in find_recalls(run.manifest.facts).items()
    ]
    return [
        *describe_degraded(run),
        *filter(None, [summary.disturbance]),
        *recalls,
        *summary.cautions,
    ]


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


def _measures(means: "Mapping[str, Estimate]", title: str = "measure") -> "Table":
    """Return a table of the measures; of many in two columns, so that a screen holds them."""
    cells = []
    for name, mean in means.items():
        digits = find(name).digits
        cells.append((name, f"{mean.value:.{digits}f}", _interval(mean, digits)))
    rows = len(cells) if len(cells) <= MOST_ROWS else (len(cells) + 1) // 2
    parts = [part for part in (cells[:rows], cells[rows:]) if part]
    first, *others = [title, "mean", "95 % interval"] * len(parts)
    table = make_table(first, *others, left=(title,), ruled=False, whole=True)
    for row in zip_longest(*parts, fillvalue=("", "", "")):
        table.add_row(*chain.from_iterable(row))
    return table


def _types(summary: Summary) -> "Table":
    from rich.markup import escape

    name = choose_headline(summary.means)
    digits = find(name).digits
    table = make_table(f"{name} by type", "n", "mean", "95 % interval", ruled=False, whole=True)
    for kind, means in summary.by_type.items():
        mean = means[name]
        values = (f"{mean.n}", f"{mean.value:.{digits}f}", _interval(mean, digits))
        table.add_row(escape(kind), *values)
    return table


def _fold_types(summary: Summary) -> str:
    """Say in a line between which types of query the headline measure lies."""
    name = choose_headline(summary.means)
    digits = find(name).digits
    many = {
        kind: means[name]
        for kind, means in summary.by_type.items()
        if means[name].n >= LEAST_QUERIES
    }
    ends = [choose(many, key=lambda kind: many[kind].value) for choose in (min, max) if many]
    shown = [f"{many[kind].value:.{digits}f} ({kind})" for kind in ends]
    few = f"of {LEAST_QUERIES} queries or more"
    if not many:
        told = f"none {few}"
    elif len(many) == 1:
        told = f"{name} {shown[0]}, the only one {few}"
    elif many[ends[0]].value == many[ends[1]].value:
        told = f"{name} {shown[0].partition(' ')[0]} in all {few}"
    else:
        told = f"{name} {' to '.join(shown)}"
    return f"{count(len(summary.by_type), 'type of query', 'types of query')} (--by-type): {told}"


def _brief_latency(summary: Summary) -> str:
    """Return the percentiles of the whole search in a line, with the lower end of open ones."""
    total = summary.latency[TOTAL]
    parts = [
        f"{name} {figure.value:.2f}"
        + (f" (at least {figure.low:.2f})" if figure.low and figure.high is None else "")
        for name, figure in total.items()
    ]
    # Work takes as much CPU time whoever else is working.
    if summary.disturbance and TOTAL in summary.cpu:
        parts.append(f"p50 of CPU time {summary.cpu[TOTAL]:.2f}")
    return f"latency in ms (n = {total['p50'].n}): {', '.join(parts)}"


def _latency(summary: Summary) -> "Table":
    # Work takes as much CPU time whoever else is working.
    beside = ("p50 CPU",) if summary.disturbance else ()
    table = _table("ms a query", "p50", *beside, "p95", "p99", "95 % interval of p95")
    for stage, figures in summary.latency.items():
        values = [f"{figures[name].value:.2f}" for name in ("p50", "p95", "p99")]
        if beside:
            values.insert(1, f"{summary.cpu[stage]:.2f}" if stage in summary.cpu else "–")
        label = f"all (n = {figures['p95'].n})" if stage == TOTAL else f"  {stage}"
        table.add_row(label, *values, _interval(figures["p95"], 2))
    return table


def _table(first: str, *others: str) -> "Table":
    table = make_table(first, *others, whole=True)
    table.columns[0].no_wrap, table.columns[0].min_width = False, 18
    return table


def _interval(estimate: OpenEstimate, digits: int) -> str:
    return interval(estimate, f"{{:.{digits}f}}".format)
