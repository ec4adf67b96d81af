"""The report of a run: its scores in plain words, and the tables of its figures."""

from assay.eval.report.blocks import Report
from assay.eval.report.formats import amount, count, percent, retried, score
from assay.eval.report.run_page.tables import list_blocks, list_brief
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import describe_degraded, describe_without_hits
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.statistics.estimates import Estimate


def report(summary: Summary, *, whole: bool = True) -> Report:
    """Return the report of a run; unless `whole`, only what a terminal shows in brief."""
    manifest = summary.run.manifest
    searched = count(len(summary.run.queries), "query", "queries")
    described = (str(manifest.config.get("description") or ""), manifest.collection.title)
    return Report(
        id=manifest.id,
        kind="run",
        title=f"{manifest.name} on {manifest.collection.name}",
        subject=[searched, *(["a sample"] if manifest.sampled else [])],
        verdict=tell(summary),
        warnings=[*list_warnings(summary), *list_time_warnings(summary)],
        blocks=list_blocks(summary) if whole else list_brief(summary),
        description=" · ".join(filter(None, described)),
        environment=manifest.environment,
    )


def tell(summary: Summary) -> list[str]:
    """Return in plain words the hit rates, the headline measure, and the time of a query."""
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
    """Return the warnings to check before believing the scores, each with its remedy."""
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
    """Return the warnings to check before believing the times."""
    retries = summary.run.manifest.retries
    told = [summary.disturbance, summary.unknown_load]
    return [*filter(None, told), *([retried(retries)] if retries else [])]


def _tell_mean(mean: Estimate) -> str:
    return f"{score(mean.value)}, likely between {score(mean.low)} and {score(mean.high)}"
