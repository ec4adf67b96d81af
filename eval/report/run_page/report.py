"""What a run found: its scores in plain words, and the tables of its figures."""

from collections.abc import Mapping
from typing import Any

from assay.eval.report.blocks import Block, Column, Facts, Plot, Report, Table
from assay.eval.report.formats import amount, count, interval, percent, retried, score
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import describe_degraded, describe_without_hits
from assay.eval.runs.summary.returned_tokens import WITHIN
from assay.eval.runs.summary.summary import Summary, explain_open
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import Estimate

# The measures that a terminal shows first.
FIRST = ("nDCG@10", "MRR@10", "Hit@1", WITHIN, "Judged@10")


def report(summary: Summary) -> Report:
    """Return the report of a run."""
    manifest = summary.run.manifest
    searched = count(len(summary.run.queries), "query", "queries")
    return Report(
        id=manifest.id,
        kind="run",
        title=f"{manifest.name} on {manifest.collection.name}",
        subject=[searched, *(["a sample"] if manifest.sampled else [])],
        verdict=tell(summary),
        warnings=[*list_warnings(summary), *list_time_warnings(summary)],
        blocks=_list_blocks(summary),
        description=manifest.collection.title,
        environment=manifest.environment,
    )


def tell(summary: Summary) -> list[str]:
    """Return in plain words what is found, the headline measure, and what a query takes."""
    manifest, means = summary.run.manifest, summary.means
    first, ten = means.get("Hit@1"), means.get("Hit@10")
    name = choose_headline(means)
    lines = []
    if first and ten:
        lines.append(
            f"{percent(first.value)} of questions get a right passage first, {percent(ten.value)} "
            "in the top ten."
        )
    lines.append(f"{name} is {_tell_mean(means[name])}.")
    if summary.traffic and name in summary.traffic.measures:
        mean = _tell_mean(summary.traffic.measures[name])
        lines.append(f"For the traffic it is {mean}. {summary.traffic.words}")
    if summary.latency:
        total = summary.latency[TOTAL]
        lines.append(
            f"Half of the questions take at most {amount(total['p50'].value)} ms, 95 % at most "
            f"{amount(total['p95'].value)} ms."
        )
    return [f"{manifest.name}: {lines[0]}", *lines[1:], *filter(None, [summary.leaks])]


def list_warnings(summary: Summary) -> list[str]:
    """Return what to check before believing the scores, each with what to do."""
    run = summary.run
    manifest, searched = run.manifest, len(run.queries)
    sample = (
        f"A sample: {searched:,} of {manifest.collection.queries:,} queries were searched. "
        "These are not the figures of the whole collection."
    )
    recalls = [
        f"{leg}: {EXPLANATION} {recall:.3f}. `assay recall` shows what raises it"
        for leg, recall in find_recalls(manifest.facts).items()
    ]
    return [
        *filter(None, [describe_without_hits(run)]),
        *describe_degraded(run),
        *([sample] if manifest.sampled else []),
        *recalls,
        *summary.cautions,
        *filter(None, [summary.models]),
    ]


def list_time_warnings(summary: Summary) -> list[str]:
    """Return what to check before believing the times."""
    retries = summary.run.manifest.retries
    told = [summary.disturbance, summary.unknown_load]
    return [*filter(None, told), *([retried(retries)] if retries else [])]


def _tell_mean(mean: Estimate) -> str:
    return f"{score(mean.value)}, likely between {score(mean.low)} and {score(mean.high)}"


def _list_blocks(summary: Summary) -> list[Block]:
    blocks: list[Block] = [_tabulate_means("measures", "Measures", summary.means)]
    if summary.traffic:
        table = _tabulate_means("traffic", "For the traffic", summary.traffic.measures)
        blocks.append(table)
    if summary.answering:
        rows = [
            (f"{words} (n = {share.n})", f"{score(share.value)} ({interval(share, score)})")
            for words, share in summary.answering.rows
        ]
        blocks.append(Facts("Queries that nothing answers", rows))
    if summary.cost:
        blocks.append(Facts("What services charge", summary.cost.rows))
    if summary.by_type:
        blocks.append(_tabulate_types(summary))
    if summary.latency:
        blocks.append(_tabulate_latency(summary))
    return blocks


def _tabulate_means(key: str, title: str, means: Mapping[str, Estimate]) -> Table:
    """Return a row a measure, those that say most first."""
    order = [name for name in FIRST if name in means]
    rows = [*order, *(name for name in means if name not in order)]
    return Table(
        key,
        title,
        [
            Column("measure", "Measure", value=str),
            Column("mean", "Mean", "score", value=means.__getitem__),
            Column("n", "n", "count", value=lambda name: means[name].n, brief=False),
            Column("standard", "In ir-measures", value=_find_standard, brief=False),
        ],
        rows,
        most=len(FIRST),
    )


def _find_standard(name: str) -> str:
    return find(name).standard


def _tabulate_types(summary: Summary) -> Table:
    """Return a row a type of query, in the measures that say most."""
    names = [name for name in FIRST[:3] if name in summary.means] or list(summary.means)[:1]
    first = names[0]
    return Table(
        "by_type",
        "By type of query",
        [
            Column("type", "Type", value=lambda row: row[0]),
            Column("n", "n", "count", value=lambda row: row[1][first].n),
            *(Column(name, name, "score", value=_read(name)) for name in names),
        ],
        list(summary.by_type.items()),
        plot=Plot(first, "whisker"),
        brief=False,
    )


def _tabulate_latency(summary: Summary) -> Table:
    """Return a row a stage, the whole search first; CPU time where others used the machine."""
    cpu = Column("cpu", "CPU p50", "ms", value=lambda row: summary.cpu.get(row[0]))
    percentiles = [Column(name, name, "ms", value=_read(name)) for name in summary.latency[TOTAL]]
    return Table(
        "latency",
        "Latency of a query in ms, by stage",
        [
            Column("stage", "Stage", value=lambda row: row[0]),
            *percentiles,
            *([cpu] if summary.disturbance else []),
            Column("n", "n", "count", value=lambda row: row[1]["p50"].n),
        ],
        list(summary.latency.items()),
        note=explain_open(summary.latency[TOTAL]),
        brief=False,
    )


def _read(name: str) -> Any:
    """Return what reads the estimate `name` of a row of (name, estimates)."""
    return lambda row: row[1][name]
