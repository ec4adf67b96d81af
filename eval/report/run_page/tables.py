"""The tables of a run: its scores, the steps that lose passages, and its costs."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from assay.eval.report.blocks import Block, Column, Facts, Listing, Plot, Prose, Table
from assay.eval.report.formats import count, percent
from assay.eval.report.provenance import describe_run, dump_yaml
from assay.eval.report.run_page.attribution import tabulate_attribution
from assay.eval.report.run_page.indexing import index_facts, recall_facts, tabulate_index
from assay.eval.report.run_page.queries import QueryRow, bars, primary, query_rows, slowest, worst
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.summary.generated_answers import Answers
from assay.eval.runs.summary.returned_tokens import WITHIN
from assay.eval.runs.summary.summary import Summary, explain_open
from assay.eval.runs.summary.unanswerable_queries import Abstention
from assay.eval.runs.summary.unjudged import UnjudgedBounds
from assay.eval.scoring.measures import UNWANTED, choose_headline, find
from assay.eval.statistics.estimates import Estimate

# The measures that a terminal shows first.
FIRST = ("nDCG@10", "MRR@10", "Hit@1", WITHIN, "Judged@10", UNWANTED)
UNJUDGED = (
    "Judged: the share of the passages a measure looks at. Condensed: the score without the "
    "unjudged, which flatters where few were judged wrong. Bounds: the lowest and the highest "
    "score that judging them could give; runs whose bounds overlap may change places. Bounds of "
    "nDCG may begin below the score: a hit that proves relevant raises the ideal too. `assay pool` "
    "lists the passages to judge, `assay label` adds the judgments."
)
BY_QUERY = ("worst", "slowest")  # tables of single queries, which are no figures of a run


def list_blocks(summary: Summary) -> list[Block]:
    """Return all blocks of the report of a run."""
    manifest, rows = summary.run.manifest, query_rows(summary)
    packages = manifest.environment.get("packages", {})
    versions = "\n".join(f"{name} {version}" for name, version in packages.items())
    index = [*index_facts(manifest.index), *recall_facts(manifest.facts)]
    return [
        *list_brief(summary),
        *([_tabulate_types(summary)] if summary.by_type else ()),
        _tabulate_ranks(rows, manifest.depth),
        *_show_unjudged(summary),
        *([_tabulate_answers(summary.answers)] if summary.answers else ()),
        *tabulate_attribution(summary.attribution, brief=False),
        *_show_latency(summary),
        *tabulate_index(manifest.index),
        Facts("Index", index, brief=False),
        *_list_notable(summary, rows),
        Facts("How it was measured", describe_run(manifest), brief=False),
        Listing("Config", dump_yaml(manifest.config), "yaml"),
        Listing("Models and engines", dump_yaml(manifest.facts), "yaml"),
        *([Listing("Packages", versions)] if versions else ()),
    ]


def list_brief(summary: Summary) -> list[Block]:
    """Return the blocks that a terminal shows without --full; nothing else is computed."""
    return [
        _tabulate_means("measures", "Measures", summary.means),
        *_show_traffic(summary),
        *(_show_answering(summary.answering) if summary.answering else ()),
        *([Facts("What services charge", summary.cost.rows)] if summary.cost else ()),
    ]


def _tabulate_means(key: str, title: str, means: Mapping[str, Estimate]) -> Table:
    """Return one row per measure, the most informative first."""
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
            Column("meaning", "What it says", value=_find_meaning, brief=False),
        ],
        rows,
        plot=Plot("mean", "share"),
        most=len(FIRST) - (UNWANTED not in means),
    )


def _find_standard(name: str) -> str:
    return find(name).standard


def _find_meaning(name: str) -> str:
    return find(name).meaning


def _show_traffic(summary: Summary) -> Iterator[Block]:
    if summary.traffic:
        yield _tabulate_means("traffic", "For the traffic", summary.traffic.measures)


def _show_answering(found: Abstention) -> Iterator[Table]:
    """Yield tables on queries that nothing answers, and on how well scores detect them."""
    name, share = Column("queries", "Queries", value=itemgetter(0)), itemgetter(1)
    shares = [
        name,
        Column("share", "Share", "score", share),
        Column("n", "n", "count", lambda row: row[1].n),
    ]
    title = "Queries that nothing answers"
    yield Table("answering", title, shares, found.rows, plot=Plot("share", "share"))
    if found.signals:
        signals = [Column("words", "Score"), Column("auc", "AUC", "score")]
        yield Table(
            "signals",
            "How well each score separates answered from unanswered queries",
            signals,
            found.signals,
            note="The area under the ROC curve: .5 is chance; its interval is by query. `assay "
            "threshold` fits a threshold.",
            plot=Plot("auc", "share"),
            brief=False,
        )


def _tabulate_types(summary: Summary) -> Table:
    """Return one row per type of query, in the most informative measures."""
    names = [name for name in FIRST[:3] if name in summary.means] or list(summary.means)[:1]
    first = names[0]
    return Table(
        "by_type",
        "By type of query",
        [
            Column("type", "Type", value=itemgetter(0)),
            Column("n", "n", "count", value=lambda row: row[1][first].n),
            *(Column(name, name, "score", value=_read(name)) for name in names),
        ],
        list(summary.by_type.items()),
        note="A type of few queries has a wide interval.",
        plot=Plot(first, "share"),
        brief=False,
    )


def _tabulate_ranks(rows: tuple[QueryRow, ...], depth: int) -> Table:
    """Return the queries by the rank of their first relevant passage."""
    return Table(
        "found_at",
        "Rank of the first relevant passage",
        [Column("label", "Rank"), Column("queries", "Queries", "count")],
        bars(rows, depth),
        note=f"None: no relevant passage in the first {depth:,}.",
        plot=Plot("queries", "bar"),
        brief=False,
    )


def _show_unjudged(summary: Summary) -> Iterator[Block]:
    """Yield the uncertainty of each measure that is due to unjudged hits."""
    by_measure = {item.measure: item for item in summary.unjudged}
    if not by_measure:
        return
    name = choose_headline(by_measure)
    yield Table(
        "unjudged",
        "Unjudged results",
        [
            Column("measure", "Measure"),
            Column("scored", "As scored", "score"),
            Column("judged", "Judged", "score"),
            Column("condensed", "Condensed", "score"),
            Column("bounds", "With its bounds", "score", _find_bounds),
        ],
        summary.unjudged,
        note=f"{percent(1 - by_measure[name].judged.value)} of the passages returned, as {name} "
        "counts them, were never judged and count as wrong. Your true score may be higher. "
        f"{UNJUDGED}",
        plot=Plot("bounds", "share"),
        brief=False,
    )


def _find_bounds(item: UnjudgedBounds) -> Estimate | None:
    """Return a score between its bounds; None if none are known."""
    if item.lower is None or item.upper is None:
        return None
    return Estimate(item.scored.value, item.lower.value, item.upper.value, item.scored.n)


def _tabulate_answers(found: Answers) -> Table:
    """Return the scores of the answers that a language model gave; the page has these."""
    known, of = len(found.answers), len(found.run.queries)
    sample = "" if known == of else f" of {of:,}, a sample"
    rows: list[tuple[str, str, Estimate]] = [
        (name, find(name).meaning, mean) for name, mean in found.means.items()
    ]
    rows += [("No answer", words, share) for words, share in found.abstained if share]
    return Table(
        "answers",
        "Answers",
        [
            Column("measure", "Measure", value=itemgetter(0)),
            Column("mean", "Mean", "score", itemgetter(2)),
            Column("n", "n", "count", lambda row: row[2].n),
            Column("meaning", "What it is", value=itemgetter(1)),
        ],
        rows,
        note=f"{count(known, 'query', 'queries')}{sample}, answered by {found.recipe.words}. "
        f"{found.bill}.",
        plot=Plot("mean", "share"),
        brief=False,
    )


def _show_latency(summary: Summary) -> Iterator[Block]:
    """Yield one row per stage, the whole search first; CPU time if others used the machine."""
    if not summary.latency:
        yield Prose("Latency", "Latency was not measured.")
        return
    manifest = summary.run.manifest
    cpu = Column("cpu", "CPU p50", "ms", value=lambda row: summary.cpu.get(row[0]))
    percentiles = [Column(name, name, "ms", value=_read(name)) for name in summary.latency[TOTAL]]
    few = explain_open(summary.latency[TOTAL])
    told = [
        f"{count(len(summary.run.latency), 'query', 'queries')} of {len(summary.run.queries):,} "
        "timed one at a time",
        *filter(None, [few]),
    ]
    if manifest.throughput is not None:
        told.append(
            f"throughput, measured apart: {manifest.throughput:,.1f} queries a second with "
            f"{count(manifest.concurrency, 'thread')}"
        )
    yield Table(
        "latency",
        "Latency of a query in ms, by stage",
        [
            Column("stage", "Stage", value=itemgetter(0)),
            *percentiles,
            *([cpu] if summary.disturbance else []),
            Column("n", "n", "count", value=lambda row: row[1]["p50"].n),
        ],
        list(summary.latency.items()),
        note=f"{'; '.join(told)}.",
        plot=Plot("p50", "whisker"),
        brief=False,
    )


def _read(name: str) -> Callable[[Any], Any]:
    """Return a function that reads the estimate `name` of a row of (name, estimates)."""
    return lambda row: row[1][name]


def _list_notable(summary: Summary, rows: tuple[QueryRow, ...]) -> Iterator[Table]:
    """Yield the queries of lowest score, and the slowest; each leads to its passages."""
    query = [
        Column("query", "Query", value=lambda row: row.text or row.id, link=_address),
        Column("id", "Id"),
        Column("type", "Type"),
    ]
    name = primary(summary)
    table = partial(Table, brief=False)
    if lowest := worst(rows):
        found = Column("found_at", "First relevant at", "count")
        columns = [*query, Column("score", name, "score"), found]
        yield table("worst", "Worst queries", columns, lowest)
    if timed := slowest(rows):
        taken = Column("milliseconds", "ms", "ms")
        columns = [*query, taken, Column("slowest_stage", "Mostly")]
        yield table("slowest", "Slowest queries", columns, timed)


def _address(row: QueryRow) -> str:
    return f"#query={quote(row.id, safe='')}"
