"""The contents of the page of a comparison, as plain data; templates compute nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.eval.report.formats import amount, count, score, signed
from assay.eval.report.plots import LogAxis, Tick, staircase
from assay.eval.report.provenance import Pairs
from assay.eval.report.run_page.timing import StageRow, stage_row
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.latency import TOTAL, collect_times
from assay.eval.runs.summary.cost import tell_queries
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.latency_pairs import LatencyPair
from assay.eval.studies.comparison.page import provenance, scores
from assay.eval.studies.comparison.page.differences import (
    DifferenceAxis,
    DifferenceRow,
    difference_row,
    elaborate,
    foresee,
    make_axis,
)
from assay.eval.studies.comparison.page.drilldown import MOST_GRID, collect
from assay.eval.studies.comparison.page.flow import Flow, list_movers, make_flow
from assay.eval.studies.comparison.page.provenance import Contrast
from assay.eval.studies.comparison.page.ranking import RankedRun, rank_runs
from assay.eval.studies.comparison.pair import Pair


@dataclass(frozen=True)
class StagePair:
    """A stage in the base and in the other run; None if a pipeline does not have it."""

    name: str
    base: StageRow | None
    other: StageRow | None


@dataclass(frozen=True)
class RatioRow:
    """A percentile of the total of both, and the ratio if both were timed in one job."""

    name: str
    base: str
    other: str
    ratio: str = ""
    interval: str = ""
    n: int = 0


@dataclass(frozen=True)
class PairTiming:
    """Latency by stage on one axis, percentiles, and the shares of queries answered by a time.

    `together` is True if the percentiles are of one job that timed both interleaved.
    """

    stages: tuple[StagePair, ...]
    ratios: tuple[RatioRow, ...]
    together: bool
    ticks: tuple[Tick, ...]
    curves: tuple[str, str]
    curve_ticks: tuple[Tick, ...]


def time_pair(pair: Pair, timing: InterleavedTiming | None) -> PairTiming | None:
    """Return the latencies of a pair; None unless both were timed.

    If there was one job for both, whole searches have its times, and have no row among the stages,
    which were timed run by run.
    """
    base, other = (collect_times(item.run.latency) for item in (pair.base, pair.other))
    if not base or not other:
        return None
    totals = base[TOTAL], other[TOTAL]
    together = timing is not None and any(item.together for item in pair.latency)
    if timing is not None and together:
        one, two = (item.run.manifest.id for item in (pair.base, pair.other))
        totals = timing.milliseconds[one], timing.milliseconds[two]
        del base[TOTAL], other[TOTAL]
    measured = (*base.values(), *other.values(), *totals)
    axis = LogAxis.around([taken for times in measured for taken in times])
    total_axis = LogAxis.around([taken for times in totals for taken in times])
    return PairTiming(
        stages=tuple(
            StagePair(
                stage,
                stage_row(pair.base, stage, base[stage], axis) if stage in base else None,
                stage_row(pair.other, stage, other[stage], axis) if stage in other else None,
            )
            for stage in dict.fromkeys([*base, *other])
        ),
        ratios=tuple(map(_ratio_row, pair.latency)),
        together=together,
        ticks=axis.ticks,
        curves=(staircase(totals[0], total_axis), staircase(totals[1], total_axis)),
        curve_ticks=total_axis.ticks,
    )


def _ratio_row(item: LatencyPair) -> RatioRow:
    row = RatioRow(f"p{item.percentile}", amount(item.base), amount(item.other))
    if item.ratio is None:
        return row
    interval = f"{amount(item.ratio.low)} – {amount(item.ratio.high)}"
    return replace(row, ratio=amount(item.ratio.value), interval=interval, n=item.ratio.n)


MOST = 10


@dataclass(frozen=True)
class Mover:
    """A query with its headline measure in the base and in the other."""

    id: str
    text: str
    type: str
    base: str
    other: str
    difference: str


def list_gains(pair: Pair) -> tuple[Mover, ...]:
    """Return the ten queries that gain most, largest gain first."""
    return _name_movers(pair, [change for change in reversed(_order(pair)) if change[1] > TIE])


def list_losses(pair: Pair) -> tuple[Mover, ...]:
    """Return the ten queries that lose most, largest loss first."""
    return _name_movers(pair, [change for change in _order(pair) if change[1] < -TIE])


def _order(pair: Pair) -> list[tuple[str, float]]:
    """Return every query with its gain, the least first."""
    scores = pair.scores(pair.headline.measure)
    gains = [(query, other - base) for query, (base, other) in scores.items()]
    return sorted(gains, key=lambda entry: entry[1])


def _name_movers(pair: Pair, changes: Sequence[tuple[str, float]]) -> tuple[Mover, ...]:
    scores = pair.scores(pair.headline.measure)
    movers = []
    for id_, gain in changes[:MOST]:
        query, (base, other) = pair.base.run.queries[id_], scores[id_]
        shown = score(base), score(other), signed(gain)
        movers.append(Mover(id_, query.text, query.type, *shown))
    return tuple(movers)


@dataclass(frozen=True)
class Axes:
    """The axes that the differences of all pairs share: over all queries, and by type."""

    all: DifferenceAxis
    types: DifferenceAxis


@dataclass(frozen=True)
class PairView:
    """One run compared with the base.

    `beside` has (name, base, other) of the figures without a verdict: measures, and the cost of
    queries if some run uses services that may charge. `half` is the median latency of the other run
    in ms, "" if none was measured.
    """

    other: str
    headline: DifferenceRow
    conclusion: str
    remarks: str
    foresight: str
    rows: tuple[DifferenceRow, ...]
    types: tuple[DifferenceRow, ...]
    beside: tuple[tuple[str, str, str], ...]
    half: str
    gains: tuple[Mover, ...]
    losses: tuple[Mover, ...]
    flow: Flow
    flow_sentence: str
    timing: PairTiming | None


@dataclass(frozen=True)
class ComparisonView:
    """The contents of the pages of a comparison. `details` is the data of the page's script.

    `pairs` are those with the base. If all pairs are compared, `ranking` has a row for each run,
    best first; else it is empty. `verdict` are the sentences that come first; with a base they are
    followed by the conclusion of each pair. `left_out` is the number of queries without a row in
    the grid of first hits.
    """

    title: str
    labels: tuple[str, ...]
    verdict: tuple[str, ...]
    ranking: tuple[RankedRun, ...]
    collection: str
    collection_title: str
    key_facts: tuple[str, ...]
    warnings: tuple[str, ...]
    measure: str
    base_half: str
    axes: Axes
    pairs: tuple[PairView, ...]
    types: tuple[str, ...]
    index: tuple[Contrast, ...]
    configs: tuple[Contrast, ...]
    facts: tuple[Contrast, ...]
    runs: tuple[Contrast, ...]
    method: Pairs
    details: Mapping[str, Any]
    left_out: int


def make_view(compared: Comparison) -> ComparisonView:
    """Return the contents of the templates for a comparison."""
    runs, labels = compared.runs, compared.labels
    collection = compared.base.run.manifest.collection
    axes = Axes(
        make_axis(item for pair in compared.against_base for item in pair.differences),
        make_axis(item for pair in compared.against_base for item in pair.by_type),
    )
    plain = compared.told
    told = [""] * len(compared.against_base) if compared.all_pairs else plain
    return ComparisonView(
        title=_title(compared),
        labels=labels,
        verdict=(*compared.lead, *(plain if compared.all_pairs else ()), *compared.for_log),
        ranking=rank_runs(compared) if compared.all_pairs else (),
        collection=collection.name,
        collection_title=collection.title,
        key_facts=(
            count(len(compared.base.run.queries), "query", "queries"),
            count(collection.documents, "document"),
            count(compared.tests, "test"),
        ),
        warnings=compared.warnings,
        measure=compared.pairs[0].headline.measure,
        base_half=_half(item.base for item in compared.against_base[0].latency),
        axes=axes,
        pairs=tuple(
            _pair_view(compared, pair, (labels[0], other), conclusion, axes)
            for pair, other, conclusion in zip(compared.against_base, labels[1:], told, strict=True)
        ),
        types=tuple(item.type for item in compared.pairs[0].by_type),
        index=provenance.contrast_indexes(runs),
        configs=provenance.contrast_configs(runs),
        facts=provenance.contrast_facts(runs),
        runs=provenance.describe_runs(runs),
        method=provenance.describe_method(compared),
        details=_details(compared, labels),
        left_out=max(len(compared.base.run.queries) - MOST_GRID, 0),
    )


def _pair_view(
    compared: Comparison, pair: Pair, names: tuple[str, str], conclusion: str, axes: Axes
) -> PairView:
    flow = make_flow(pair.base.attribution, pair.other.attribution)
    return PairView(
        other=names[1],
        headline=difference_row(pair.headline, axes.all.axis),
        conclusion=conclusion,
        remarks=elaborate(pair),
        foresight=foresee(pair, compared),
        rows=tuple(difference_row(item, axes.all.axis) for item in pair.differences),
        types=tuple(difference_row(item, axes.types.axis) for item in pair.by_type),
        beside=(*_list_beside(compared, pair), *_list_costs(compared, pair)),
        half=_half(item.other for item in pair.latency),
        gains=list_gains(pair),
        losses=list_losses(pair),
        flow=flow,
        flow_sentence=flow.tell(*names),
        timing=time_pair(pair, compared.timing),
    )


def _list_beside(compared: Comparison, pair: Pair) -> Sequence[tuple[str, str, str]]:
    base, other = pair.base.means, pair.other.means
    return [(name, score(base[name].value), score(other[name].value)) for name in compared.beside]


def _list_costs(compared: Comparison, pair: Pair) -> Sequence[tuple[str, str, str]]:
    """Return the cost of queries; empty if no run uses a service that may charge."""
    if not any(item.base.cost or item.other.cost for item in compared.against_base):
        return []
    base, other = tell_queries(pair.base.cost), tell_queries(pair.other.cost)
    return [("USD per 1,000 queries", base, other)]


def _title(compared: Comparison) -> str:
    """Return the title: the runs that are compared."""
    base, *others = compared.labels
    if compared.all_pairs:
        return f"{', '.join(compared.labels)}: all pairs"
    return f"{', '.join(others)} against {base}"


def _half(percentiles: Iterable[float]) -> str:
    """Return the first percentile of latency, p50, in words; "" if there are none."""
    return next(map(amount, percentiles), "")


def _details(compared: Comparison, labels: Sequence[str]) -> dict[str, Any]:
    queries = list(compared.base.run.queries)
    base = compared.base.attribution
    axes = scores.find_axes(compared)
    return {
        "runs": list(labels),
        "measures": scores.describe_measures(axes),
        "pairs": [
            {
                **scores.describe_pair(compared, pair, axes),
                "moves": list_movers(base, pair.other.attribution, queries),
            }
            for pair in compared.against_base
        ],
        **collect(compared),
    }
