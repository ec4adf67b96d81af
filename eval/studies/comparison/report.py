"""The report of a comparison: the verdict in plain words, a table, and all figures."""

from collections.abc import Sequence
from statistics import fmean

from assay.eval.report.blocks import Block, Facts, Prose, Report
from assay.eval.report.formats import amount, count, percent
from assay.eval.runs.machine_load import UNRELIABLE
from assay.eval.runs.summary.cost import tell_queries
from assay.eval.statistics.significance import ALPHA, POWER, RESAMPLES
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.tables import (
    tabulate_differences,
    tabulate_latency,
    tabulate_measures,
    tabulate_overlaps,
    tabulate_runs,
    tabulate_types,
)


def report(compared: Comparison) -> Report:
    """Return the report of a comparison."""
    collection = compared.base.run.manifest.collection
    queries = count(len(compared.base.run.queries), "query", "queries")
    return Report(
        id=compared.id,
        kind="comparison",
        title=entitle(compared),
        subject=(queries + compared.describe_questions(), *_tell_overlap(compared)),
        verdict=compared.verdict,
        # Warnings on times come last: they change no verdict.
        warnings=sorted(compared.warnings, key=lambda line: UNRELIABLE in line),
        blocks=list(_list_blocks(compared)),
        description=collection.title,
    )


def entitle(compared: Comparison) -> str:
    """Return the title: the runs that are compared, and the collection."""
    base, *others = compared.labels
    runs = (
        f"{', '.join(compared.labels)}, all pairs"
        if compared.all_pairs
        else f"{', '.join(others)} against {base}"
    )
    return f"{runs} on {compared.base.run.manifest.collection.name}"


def _tell_overlap(compared: Comparison) -> list[str]:
    """Return the mean share of a question's words that are in its answer; [] if unknown."""
    if not compared.overlaps:
        return []
    return [f"{percent(fmean(compared.overlaps.values()))} of a question's words in its answer"]


def _list_blocks(compared: Comparison) -> Sequence[Block]:
    several = len(compared.pairs) > 1
    typed = any(pair.by_type for pair in compared.pairs)
    return [
        *([tabulate_runs(compared)] if several else []),
        tabulate_differences(compared, brief=not several),
        *([tabulate_types(compared)] if typed else []),
        *tabulate_overlaps(compared),
        *([] if several else _tell_speed(compared)),
        *([tabulate_latency(compared)] if compared.pairs[0].latency else []),
        tabulate_measures(compared),
        Prose("How to read the figures", explain(compared)),
    ]


def _tell_speed(compared: Comparison) -> list[Facts]:
    """Return the median latency and the cost of a query with each of two runs."""
    (pair,) = compared.pairs
    told = []
    for item in pair.latency[:1]:
        line = f"{amount(item.base)} → {amount(item.other)} ms"
        if item.ratio:
            line += f", {amount(item.ratio.value)} times as long"
        elif not item.together:
            line += ", timed apart: this does not show which is faster"
        told.append(("p50 latency", line))
    if pair.base.cost or pair.other.cost:
        costs = " → ".join(tell_queries(summary.cost) for summary in (pair.base, pair.other))
        told.append(("USD per 1,000 queries", costs))
    return [Facts("Time and cost", told)] if told else []


def explain(compared: Comparison) -> str:
    """Return an explanation of the figures of the tests, and of the families tested."""
    headline = compared.pairs[0].headline.measure
    what = "pairs" if compared.all_pairs else "runs"
    families = [
        (compared.tests_headline, f"{headline} of all {what}"),
        (compared.tests - compared.tests_headline, "the other measures"),
        (compared.tests_apart, compared.name_apart),
        (compared.tests_by_type, "types of query"),
    ]
    adjusted = ", ".join(f"{name} ({tests})" for tests, name in families if tests)
    family = f", adjusted within each family: {adjusted}" if adjusted else ""
    return (
        "Detectable: the smallest difference that these queries find with power "
        f"{POWER}, tested with its family. "
        "Difference: with the 95 % simultaneous interval, which holds for the whole family at "
        "once; it excludes 0 where, and only where, p is at most "
        f"{ALPHA}; of what is not tested (p –) it is by itself. p: randomisation of signs, "
        f"{RESAMPLES:,} draws{family}; better or worse at {ALPHA}; none for groups too small to "
        f"reach it. Other measures are tested for {what} whose {headline} is shown to differ, "
        f"types of query for those and for {what} whose types "
        "differ from one another; else not tested. d: mean difference over its standard "
        "deviation (d_z). Won, tied, lost: queries. Not shown (too few queries): a "
        f"difference of {compared.effect:g} would not be shown reliably, or so few moved that "
        "none could be."
    )
