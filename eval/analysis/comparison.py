"""Comparison of stored runs with a base, query by query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from eval.analysis.comparability import check_comparable
from eval.analysis.summary import Summary, summarise
from eval.runs.latency import TOTAL
from eval.runs.stored import StoredRun
from eval.scoring.measures import choose_headline, find
from eval.statistics.estimates import Estimate, estimate_mean, estimate_percentile_ratio
from eval.statistics.significance import (
    ALPHA,
    POWER,
    TIE,
    adjust_holm,
    can_reach,
    detectable,
    randomise,
    spread,
    standardise,
)
from retrievers.base import AssayError

DEFAULT = ("nDCG@10", "RR@10", "Success@1", "Success@5", "R@20", "R@2000tok")
# What the reader needs beside the measures, of which neither more nor less is better.
BESIDE = ("Judged@10", "Tokens@10")
PERCENTILES = (50, 95)
# The smallest difference of a measure on 0 to 1 that is worth a verdict of its own.
EFFECT = 0.05

Verdict = Literal["better", "worse", "no difference shown", "too few queries"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much one measure differs from the base, over all queries or those of one `type`.

    `base` and `other` are means; `difference` is other - base with its paired bootstrap interval;
    `p` is from the two-sided randomisation test and `adjusted` is Holm's, over all tests of the
    comparison; too few queries for any p-value to reach .05 are not tested. `effect_size` is
    Cohen's d_z, the mean difference over its standard deviation `deviation`. `detectable` is the
    smallest difference shown with power 0.8 at level .05 by this many queries with this
    deviation. None stands for what is not defined.
    """

    measure: str
    type: str
    n: int
    base: float
    other: float
    difference: Estimate
    p: float | None
    adjusted: float | None
    effect_size: float | None
    deviation: float | None
    detectable: float | None
    wins: int
    ties: int
    losses: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class LatencyRatio:
    """Percentiles of latency in milliseconds, and the ratio other / base with its interval.

    The two were timed in separate runs: load on the machine enters. `assay gate --base` times two
    pipelines interleaved.
    """

    percentile: int
    base: float
    other: float
    ratio: Estimate


@dataclass(frozen=True)
class Pair:
    """One run beside the base. `differences` are over all queries, `by_type` by type of query."""

    base: Summary
    other: Summary
    differences: tuple[Difference, ...]
    by_type: tuple[Difference, ...]
    latency: tuple[LatencyRatio, ...]

    @property
    def shown(self) -> tuple[Difference, ...]:
        """Every difference, those over all queries first."""
        return (*self.differences, *self.by_type)

    def scores(self, measure: str) -> Mapping[str, tuple[float, float]]:
        """Return {query id: (score in the base, score in the other)}."""
        base, other = self.base.scores[measure], self.other.scores[measure]
        return {query: (score, other[query]) for query, score in base.items()}


@dataclass(frozen=True)
class Comparison:
    """Runs beside a base, all on the same queries and judgments.

    `measures` are those tested. `beside` are shown without a verdict, since neither more nor less
    of them is better; the summaries hold both. `effect` is the difference worth a verdict.
    """

    base: Summary
    pairs: tuple[Pair, ...]
    measures: tuple[str, ...]
    beside: tuple[str, ...]
    effect: float

    @property
    def tests(self) -> int:
        """The number of p-values, over which Holm adjusts them."""
        return sum(item.p is not None for pair in self.pairs for item in pair.shown)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the figures."""
        runs = [self.base.run, *(pair.other.run for pair in self.pairs)]
        found = [
            f"{run.manifest.id} is degraded on {queries} of {len(run.queries)} queries: {line}"
            for run in runs
            for line, queries in run.manifest.degraded.items()
        ]
        if runs[0].manifest.sampled:
            of = runs[0].manifest.collection.queries
            found.append(f"a sample: {len(runs[0].queries)} of the collection's {of} queries")
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as the JSON object that `assay compare --json` prints."""
        collection = self.base.run.manifest.collection
        return {
            "collection": {"name": collection.name, "digest": collection.digest},
            "queries": len(self.base.run.queries),
            "alpha": ALPHA,
            "power": POWER,
            "effect": self.effect,
            "tests": self.tests,
            "warnings": list(self.warnings),
            "base": _run(self.base, self.beside),
            "others": [
                {
                    **_run(pair.other, self.beside),
                    "differences": [asdict(item) for item in pair.differences],
                    "by_type": [asdict(item) for item in pair.by_type],
                    "latency": [asdict(item) for item in pair.latency],
                }
                for pair in self.pairs
            ],
        }


def compare(
    runs: Sequence[StoredRun], measures: Sequence[str] = DEFAULT, effect: float = EFFECT
) -> Comparison:
    """Compare every run with the first, on `measures`.

    A difference that is not significant is "no difference shown" where the collection would have
    shown one of `effect` with power 0.8, else "too few queries". The same call returns the same
    figures. Raises AssayError when runs were not judged alike, naming what differs.
    """
    wanted = [find(name) for name in measures]
    tested = tuple(dict.fromkeys(item.name for item in wanted if item.is_ranked))
    described = [item.name for item in wanted if not item.is_ranked]
    beside = tuple(dict.fromkeys([*described, *BESIDE]))
    if len(runs) < 2 or not tested:
        raise AssayError("a comparison needs two runs and a measure other than Judged and Tokens")
    for at, run in enumerate(runs[1:], start=1):
        if run.manifest.id in {earlier.manifest.id for earlier in runs[:at]}:
            raise AssayError(f"{run.manifest.id} is given twice; a comparison needs different runs")
        check_comparable(runs[0], run)
    base, *others = [summarise(run, [*tested, *beside]) for run in runs]
    pairs = [_pair(base, other, tested) for other in others]
    shown = [item for pair in pairs for item in pair.shown]
    adjusted = iter(adjust_holm([item.p for item in shown if item.p is not None]))
    return Comparison(
        base=base,
        pairs=tuple(_conclude(pair, adjusted, effect) for pair in pairs),
        measures=tested,
        beside=beside,
        effect=effect,
    )


def _pair(base: Summary, other: Summary, tested: Sequence[str]) -> Pair:
    queries = base.run.queries
    headline = choose_headline(tested)
    types = sorted({query.type for query in queries.values()} - {""})
    groups = {kind: [id_ for id_ in queries if queries[id_].type == kind] for kind in types}
    return Pair(
        base=base,
        other=other,
        differences=tuple(_difference(base, other, name, "", list(queries)) for name in tested),
        by_type=tuple(
            _difference(base, other, headline, kind, ids) for kind, ids in groups.items()
        ),
        latency=_latency(base.run, other.run),
    )


def difference(
    measure: str, kind: str, before: Sequence[float], after: Sequence[float]
) -> Difference:
    """Return the difference of paired scores, not yet adjusted and judged."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    deviation = spread(differences)
    sign = find(measure).sign
    wins = sum(sign * value > TIE for value in differences)
    losses = sum(sign * value < -TIE for value in differences)
    p = randomise(differences) if can_reach(ALPHA, len(differences)) else None
    return Difference(
        measure=measure,
        type=kind,
        n=len(differences),
        base=float(np.mean(before)),
        other=float(np.mean(after)),
        difference=estimate_mean(differences),
        p=p,
        adjusted=p,
        effect_size=standardise(differences),
        deviation=deviation,
        detectable=None if deviation is None else detectable(deviation, len(differences)),
        wins=wins,
        ties=len(differences) - wins - losses,
        losses=losses,
        verdict="no difference shown",
    )


def judge(difference: Difference, adjusted: float | None, effect: float = EFFECT) -> Difference:
    """Return a difference with its adjusted p-value and its verdict."""
    verdict: Verdict
    if adjusted is not None and adjusted <= ALPHA:
        gain = find(difference.measure).sign * difference.difference.value
        verdict = "better" if gain > 0 else "worse"
    elif adjusted is None or difference.detectable is None or difference.detectable > effect:
        verdict = "too few queries"
    else:
        verdict = "no difference shown"
    return replace(difference, adjusted=adjusted, verdict=verdict)


def _difference(
    base: Summary, other: Summary, measure: str, kind: str, queries: Sequence[str]
) -> Difference:
    before = [base.scores[measure][id_] for id_ in queries]
    after = [other.scores[measure][id_] for id_ in queries]
    return difference(measure, kind, before, after)


def _conclude(pair: Pair, adjusted: Iterator[float], effect: float) -> Pair:
    return replace(
        pair,
        differences=tuple(_judge(item, adjusted, effect) for item in pair.differences),
        by_type=tuple(_judge(item, adjusted, effect) for item in pair.by_type),
    )


def _judge(item: Difference, adjusted: Iterator[float], effect: float) -> Difference:
    """Judge a difference, taking its adjusted p-value, where it has one, from `adjusted`."""
    return judge(item, None if item.p is None else next(adjusted), effect)


def _latency(base: StoredRun, other: StoredRun) -> tuple[LatencyRatio, ...]:
    """Return the percentiles of the total over the queries that were timed in both runs."""
    before = {sample.query_id: sample.milliseconds[TOTAL] for sample in base.latency}
    after = {sample.query_id: sample.milliseconds[TOTAL] for sample in other.latency}
    queries = [id_ for id_ in before if id_ in after]
    if not queries:
        return ()
    old, new = [before[id_] for id_ in queries], [after[id_] for id_ in queries]
    return tuple(
        LatencyRatio(
            percentile=percent,
            base=float(np.percentile(old, percent)),
            other=float(np.percentile(new, percent)),
            ratio=estimate_percentile_ratio(old, new, percent),
        )
        for percent in PERCENTILES
    )


def _run(summary: Summary, beside: Sequence[str]) -> dict[str, Any]:
    manifest = summary.run.manifest
    return {
        "run": manifest.id,
        "config": manifest.name,
        "degraded": manifest.degraded,
        "sampled": manifest.sampled,
        "beside": {name: summary.means[name].value for name in beside},
    }
