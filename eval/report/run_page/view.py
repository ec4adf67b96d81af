"""What a report shows, as plain data: everything is computed here, nothing in the templates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.report import formats
from assay.eval.report.formats import Figure, count, figure, percent
from assay.eval.report.histogram import BinRow, bin_rows, draw_bars
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.report.provenance import Provenance, describe
from assay.eval.report.run_page.answers import AnswersView, view_answers
from assay.eval.report.run_page.attribution import AttributionView, view_attribution
from assay.eval.report.run_page.drilldown import collect
from assay.eval.report.run_page.indexing import IndexRow, index_facts, index_rows, recall_facts
from assay.eval.report.run_page.queries import (
    Bar,
    QueryRow,
    bars,
    listed,
    primary,
    query_rows,
    slowest,
    worst,
)
from assay.eval.report.run_page.report import tell
from assay.eval.report.run_page.timing import LatencyTable, time_stages
from assay.eval.report.run_page.unanswerable_queries import AnsweringView, view_answering
from assay.eval.runs.manifest import count_tokens
from assay.eval.runs.stored import describe_without_hits
from assay.eval.runs.summary.cost import dollars
from assay.eval.runs.summary.summary import Summary
from assay.eval.runs.summary.unjudged import UnjudgedBounds
from assay.eval.scoring import measures
from assay.eval.statistics.estimates import Estimate


@dataclass(frozen=True)
class UnjudgedRow:
    """One measure. `bounds` is "" where none are known; the interval beside them spans those of
    both. `whisker` has its dot at the score and its ends at the bounds.
    """

    name: str
    scored: Figure
    judged: Figure
    condensed: Figure
    bounds: str
    interval: str
    whisker: Whisker | None


@dataclass(frozen=True)
class UnjudgedView:
    """The rows of all measures, and how to read them."""

    rows: tuple[UnjudgedRow, ...]
    explanation: str


def show_unjudged(summary: Summary) -> UnjudgedView:
    """Return the section of a run; it has no rows where no measure can be open."""
    return UnjudgedView(tuple(map(_row, summary.unjudged)), _explain(summary))


def _row(item: UnjudgedBounds) -> UnjudgedRow:
    bounds = interval = ""
    drawn = None
    if item.lower and item.upper:
        bounds = f"{formats.score(item.lower.value)} – {formats.score(item.upper.value)}"
        interval = f"{formats.score(item.lower.low)} – {formats.score(item.upper.high)}"
        ends = Estimate(item.scored.value, item.lower.value, item.upper.value, item.scored.n)
        drawn = whisker(ends, LinearAxis())
    return UnjudgedRow(
        name=item.measure,
        scored=figure(item.scored, formats.score),
        judged=figure(item.judged, formats.score),
        condensed=figure(item.condensed, formats.score),
        bounds=bounds,
        interval=interval,
        whisker=drawn,
    )


def _explain(summary: Summary) -> str:
    by_measure = {item.measure: item for item in summary.unjudged}
    if not by_measure:
        return ""
    name = measures.choose_headline(by_measure)
    return (
        f"{percent(1 - by_measure[name].judged.value)} of the passages returned, as {name} counts "
        "them, were never judged and count as wrong. Your true score may be higher."
    )


BY_TYPE = ("nDCG@10", "Hit@1", "MRR@10", "Recall@10")


@dataclass(frozen=True)
class MeasureRow:
    """A mean. `whisker` is None for a measure that is no share of 1."""

    name: str
    standard: str
    meaning: str
    figure: Figure
    n: int
    whisker: Whisker | None
    headline: bool


@dataclass(frozen=True)
class TypeRow:
    """The means of one type of query, in the order of `View.type_measures`."""

    type: str
    n: int
    whisker: Whisker | None
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class View:
    """All that the pages show of one run. `details` is what the drill-downs are made of."""

    name: str
    collection: str
    collection_title: str
    description: str
    key_facts: tuple[str, ...]
    warnings: tuple[str, ...]
    lede: tuple[str, ...]
    measures: tuple[MeasureRow, ...]
    traffic: tuple[MeasureRow, ...]
    traffic_words: str
    primary: str
    found_at: tuple[Bar, ...]
    type_measures: tuple[str, ...]
    types: tuple[TypeRow, ...]
    unjudged: UnjudgedView
    answers: AnswersView | None
    answering: AnsweringView | None
    attribution: AttributionView | None
    timing: LatencyTable | None
    throughput: str
    index: tuple[IndexRow, ...]
    index_facts: tuple[tuple[str, str], ...]
    chunk_bars: tuple[BinRow, ...]
    drawn_bars: str
    queries: tuple[QueryRow, ...]
    searched: int
    query_measures: tuple[str, ...]
    worst: tuple[QueryRow, ...]
    slowest: tuple[QueryRow, ...]
    details: Mapping[str, Any]
    provenance: Provenance


def make_view(summary: Summary) -> View:
    """Turn a summary into what the templates show."""
    manifest = summary.run.manifest
    rows = query_rows(summary)
    first_worst, first_slowest = worst(rows), slowest(rows)
    notable = [*first_worst, *first_slowest]
    type_measures = tuple(name for name in BY_TYPE if name in summary.means)
    sizes = count_tokens(manifest.index)
    chunk_bars = bin_rows(sizes.histogram()) if sizes.sizes else ()
    return View(
        name=manifest.name,
        collection=manifest.collection.name,
        collection_title=manifest.collection.title,
        description=str(manifest.config.get("description") or ""),
        key_facts=_key_facts(summary),
        warnings=_warnings(summary),
        lede=tuple(tell(summary)),
        measures=tuple(_measure_row(name, mean) for name, mean in summary.means.items()),
        traffic=tuple(
            _measure_row(name, mean)
            for name, mean in (summary.traffic.measures if summary.traffic else {}).items()
        ),
        traffic_words=summary.traffic.words if summary.traffic else "",
        primary=primary(summary),
        found_at=bars(rows, manifest.depth),
        type_measures=type_measures,
        types=tuple(
            TypeRow(
                kind,
                means[type_measures[0]].n,
                _unit_whisker(means[type_measures[0]]),
                tuple(figure(means[name], formats.score) for name in type_measures),
            )
            for kind, means in summary.by_type.items()
            if type_measures
        ),
        unjudged=show_unjudged(summary),
        answers=view_answers(summary.answers),
        answering=view_answering(summary.answering),
        attribution=view_attribution(summary.attribution),
        timing=time_stages(summary),
        throughput=_throughput(summary),
        index=index_rows(manifest.index),
        index_facts=(
            *index_facts(manifest.index),
            *recall_facts(manifest.facts),
            *(summary.cost.rows if summary.cost else ()),
        ),
        chunk_bars=chunk_bars,
        drawn_bars="\n".join(draw_bars(chunk_bars)) if chunk_bars else "",
        queries=listed(rows, notable),
        searched=len(rows),
        query_measures=tuple(name for name, _ in rows[0].scores) if rows else (),
        worst=first_worst,
        slowest=first_slowest,
        details=collect(summary, rows, notable),
        provenance=describe(summary),
    )


def _key_facts(summary: Summary) -> tuple[str, ...]:
    manifest = summary.run.manifest
    commit = manifest.environment.get("git", {}).get("commit", "")
    facts = (
        count(len(summary.run.queries), "query", "queries"),
        count(manifest.collection.documents, "document"),
        count(manifest.index.chunks, "chunk"),
        _describe_cost(summary),
        f"{manifest.created[:16].replace('T', ' ')} UTC",
        f"commit {commit[:8]}" if commit else "",
    )
    return tuple(fact for fact in facts if fact)


def _describe_cost(summary: Summary) -> str:
    if summary.cost is None:
        return ""
    if summary.cost.queries is None:
        return f"no price known of {', '.join(summary.cost.unpriced)}"
    return f"{dollars(summary.cost.queries)} USD per 1,000 queries"


def _warnings(summary: Summary) -> tuple[str, ...]:
    manifest = summary.run.manifest
    searched = len(summary.run.queries)
    silent = describe_without_hits(summary.run)
    lines = [f"{silent.capitalize()}."] if silent else []
    if manifest.sampled:
        lines.append(
            f"Sampled: {searched:,} of {manifest.collection.queries:,} queries were searched. "
            "A quick look; not the figures of the whole collection."
        )
    lines += [
        f"Degraded: {line} ({times:,} of {count(searched, 'query', 'queries')})"
        for line, times in manifest.degraded.items()
    ]
    if summary.leaks:
        lines.append(summary.leaks)
    if summary.models:
        lines.append(f"{summary.models}.")
    return (*lines, *summary.cautions)


def _measure_row(name: str, mean: Estimate) -> MeasureRow:
    measure = measures.find(name)
    return MeasureRow(
        name=name,
        standard=measure.standard,
        meaning=measure.meaning,
        figure=figure(mean, formats.score),
        n=mean.n,
        whisker=_unit_whisker(mean),
        headline=name in BY_TYPE,
    )


def _unit_whisker(mean: Estimate) -> Whisker | None:
    return whisker(mean, LinearAxis()) if mean.low >= 0 and mean.high <= 1 else None


def _throughput(summary: Summary) -> str:
    manifest = summary.run.manifest
    if manifest.throughput is None:
        return ""
    threads = count(manifest.concurrency, "thread")
    return f"{formats.amount(manifest.throughput)} queries a second with {threads}"
