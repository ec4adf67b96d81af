"""Figures that are computed from stored runs alone."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.eval.runs.latency import TOTAL, LatencySample
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import STATUSES, attribute
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.runs.summary.summary import explain_open
from assay.eval.scoring import measures
from assay.eval.scoring.kinds import Hit
from assay.eval.statistics.estimates import (
    SHARE,
    Estimate,
    OpenEstimate,
    estimate_percentile,
)
from assay.eval.statistics.groups import estimate_clustered_mean, estimate_clustered_ratio
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import randomise
from assay.eval.studies.targets.measurement_base import COMPLEMENT
from assay.eval.studies.targets.measurements import (
    Change,
    Documents,
    Duplicates,
    Latency,
    Score,
    Similarity,
    SlowestStage,
    TraceMeasurement,
)
from assay.eval.studies.targets.results import MeasuredValue, Unit
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest

# Texts to vectors of length 1, a row each.
Encode = Callable[[Sequence[str]], NDArray[np.floating]]


def score(run: StoredRun, wanted: Score) -> MeasuredValue:
    """Return the mean of a measure over the queries of the wanted types.

    Where nothing relevant is within the first results of some, the note says what became of it.
    """
    chosen = _choose(run, wanted.query_types)
    scores = _scores(run, wanted.measure, wanted.query_types)
    note = ""
    measure = measures.find(wanted.measure.removeprefix(COMPLEMENT))
    whole = not wanted.measure.startswith(COMPLEMENT)
    if whole and isinstance(measure, Hit) and measure.cutoff:
        lost = [query for query, score in zip(chosen, scores, strict=True) if not score]
        note = _explain(run, measure.cutoff, lost) if lost else ""
    if wanted.census:
        mean = float(np.mean(scores))
        return _measured([run], Estimate(mean, mean, mean, len(scores)), "score", note)
    claims = Claims.of(run)
    estimate = estimate_scores(measure.name, scores, claims.cluster(chosen))
    return _measured([run], estimate, "score", _join(note, _tell_claim(claims)))


def change(base: StoredRun, other: StoredRun, wanted: Change) -> MeasuredValue:
    """Return how the mean of a measure changes, with its paired interval."""
    check_comparable(base, other)
    old = _scores(base, wanted.measure, wanted.query_types)
    new = _scores(other, wanted.measure, wanted.query_types)
    before, after = float(np.mean(old)), float(np.mean(new))
    differences = [late - early for early, late in zip(old, new, strict=True)]
    claims = Claims.of(base)
    clusters = claims.cluster(_choose(base, wanted.query_types))
    p = randomise(differences)
    if clusters is not None:
        column = np.array(differences)[:, None]
        by_group = randomise_family(column, groups=clusters.numbers, share=clusters.share)
        p = max(p, by_group.p_values[0])
    note = f"{before:.3f} → {after:.3f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"
    note = _join(note, _tell_claim(claims))
    if not wanted.relative:
        measure = wanted.measure.removeprefix(COMPLEMENT)
        changed = estimate_changes(measure, differences, clusters)
        return _measured([base, other], changed, "difference", note)
    ratio = estimate_clustered_ratio(old, new, clusters)
    if not all(map(math.isfinite, (ratio.value, ratio.low, ratio.high))):
        raise AssayError(
            f"{wanted.base}: {wanted.shown} is 0 in too many resamples, so that no share is known"
        )
    relative = Estimate(ratio.value - 1, ratio.low - 1, ratio.high - 1, ratio.n)
    return _measured([base, other], relative, "change", note)


def latency(samples: Sequence[LatencySample], wanted: Latency) -> OpenEstimate:
    """Return a percentile of the milliseconds of some stages together, or of the whole search."""
    times = _by_stage(samples)
    if unknown := [name for name in wanted.stages if name not in times]:
        near = suggest(unknown[0], times)
        raise AssayError(f"{unknown[0]}: no such stage; there are: {', '.join(times)}{near}")
    parts = [times[name] for name in wanted.stages or [TOTAL]]
    return estimate_percentile(
        [sum(values) for values in zip(*parts, strict=True)], wanted.percentile
    )


def latency_of_run(run: StoredRun, wanted: Latency) -> MeasuredValue:
    """Return the same of a run's own times."""
    found = latency(run.latency, wanted)
    return _measured([run], found, "ms", warn_of_few(found, wanted.percentile))


def slowest_stage(run: StoredRun, wanted: SlowestStage) -> MeasuredValue:
    """Return a percentile of the milliseconds of the stage where it is largest."""
    times = _by_stage(run.latency)
    rest = {
        name: estimate_percentile(taken, wanted.percentile)
        for name, taken in times.items()
        if name not in (TOTAL, *wanted.other_than)
    }
    if not rest:
        raise AssayError(f"{run.manifest.id}: no other stage was timed")
    slowest = max(rest, key=lambda name: rest[name].value)
    few = warn_of_few(rest[slowest], wanted.percentile)
    return _measured([run], rest[slowest], "ms", "; ".join(filter(None, (f"it is {slowest}", few))))


def warn_of_few(found: OpenEstimate, percentile: float) -> str:
    """Return a warning where the queries are too few for an upper bound of the percentile."""
    return explain_open({f"p{percentile:g}": found})


def documents(run: StoredRun, wanted: Documents) -> MeasuredValue:
    """Return the share of queries whose first results come from so many documents.

    Or how many fall short: a count of what is, with no interval. A ranking that has results of
    fewer documents in all does not count.
    """
    by_query = {
        query: [hit.chunk.doc_id for hit in ranking.hits] for query, ranking in run.rankings.items()
    }
    asked = [query for query, ids in by_query.items() if len(set(ids)) >= wanted.documents]
    good = [len(set(by_query[query][: wanted.depth])) >= wanted.documents for query in asked]
    if not good:
        raise AssayError(f"{run.manifest.id}: no ranking has {wanted.documents} documents")
    if wanted.counted:
        short = len(good) - sum(good)
        found = Estimate(short, short, short, len(good))
        few = len(by_query) - len(good)
        note = f"; {few} more have results of fewer documents" if few else ""
        return _measured([run], found, "count", f"of {len(good)} queries{note}")
    claims = Claims.of(run)
    found = estimate_clustered_mean(good, claims.cluster(asked), SHARE)
    return _measured([run], found, "share", _tell_claim(claims))


def similarity(
    base: StoredRun, other: StoredRun, wanted: Similarity, encode: Encode
) -> MeasuredValue:
    """Return the change of the mean cosine of every two of a query's first results.

    A query for which either run has fewer than two results does not enter.
    """
    check_comparable(base, other)
    old, new = (
        {
            query: [hit.chunk.text for hit in ranking.hits[: wanted.depth]]
            for query, ranking in run.rankings.items()
        }
        for run in (base, other)
    )
    both = [query for query in old if min(len(old[query]), len(new[query])) > 1]
    if not both:
        raise AssayError(f"{wanted.pipeline}: no query has two results in both runs")
    texts = sorted({text for lists in (old, new) for query in both for text in lists[query]})
    vectors = dict(zip(texts, encode(texts), strict=True))

    def measure(found: Sequence[str]) -> float:
        """Return the mean cosine of every two texts."""
        matrix = np.array([vectors[text] for text in found])
        return float(np.mean((matrix @ matrix.T)[np.triu_indices(len(matrix), k=1)]))

    before, after = ([measure(lists[query]) for query in both] for lists in (old, new))
    claims = Claims.of(base)
    differences = [late - early for early, late in zip(before, after, strict=True)]
    changed = estimate_clustered_mean(differences, claims.cluster(both))
    note = _join(f"{np.mean(before):.3f} → {np.mean(after):.3f}", _tell_claim(claims))
    return _measured([base, other], changed, "difference", note)


def duplicates(run: StoredRun, wanted: Duplicates, encode: Encode) -> MeasuredValue:
    """Return how many first results are nearly the same as one before them: a count of what is."""
    shown = {
        query: [hit.chunk.searchable for hit in ranking.hits[: wanted.depth]]
        for query, ranking in run.rankings.items()
    }
    texts = sorted({text for found in shown.values() for text in found})
    vectors = dict(zip(texts, encode(texts), strict=True))
    number = 0
    for found in shown.values():
        matrix = np.array([vectors[text] for text in found]).reshape(len(found), -1)
        before = np.tril(matrix @ matrix.T, k=-1)
        number += int(np.sum(np.any(before >= wanted.over, axis=1)))
    note = f"of {sum(map(len, shown.values())):,} results"
    return _measured([run], Estimate(number, number, number, len(shown)), "count", note)


def flow(run: StoredRun) -> MeasuredValue:
    """Return in how many queries the counts in the trace do not follow from each other.

    Each stage that tells how many hits it took in must have got as many from the one before it
    that tells what it gave, and the last must have given no fewer than the ranking has.
    """
    wrong = stages = 0
    for ranking in run.rankings.values():
        told = [entry.counts for entry in ranking.trace if {"in", "out"} <= entry.counts.keys()]
        given = [*(counts["in"] for counts in told[1:]), len(ranking.hits)]
        outs = [counts["out"] for counts in told]
        stages = max(stages, len(told))
        wrong += outs[:-1] != given[:-1] or any(out < given[-1] for out in outs[-1:])
    if not stages:
        raise AssayError(f"{run.manifest.id}: no stage tells how many hits it took in and gave")
    found = Estimate(wrong, wrong, wrong, len(run.rankings))
    return _measured([run], found, "count", f"of {len(run.rankings)} queries, {stages} stages")


def traced(run: StoredRun, wanted: TraceMeasurement) -> MeasuredValue:
    """Return a figure of the counts that a stage left in the trace of each query."""
    counts = [_counts(run, query, wanted.stage) for query in run.queries]
    for name in filter(None, (wanted.count, wanted.of)):
        if not any(name in of_query for of_query in counts):
            raise AssayError(f"{run.manifest.id}: {wanted.stage} leaves no count {name!r}")
    values = [of_query.get(wanted.count, 0) for of_query in counts]
    n, claims = len(values), Claims.of(run)
    if wanted.figure == "share":
        positive = [value > 0 for value in values]
        found = estimate_clustered_mean(positive, claims.cluster(run.queries), SHARE)
        return _measured([run], found, "share", _tell_claim(claims))
    if wanted.figure == "max":
        largest = float(max(values))
        return _measured([run], Estimate(largest, largest, largest, n), "count")
    below = [of_query.get(wanted.of, 0) for of_query in counts]
    ratio = estimate_clustered_ratio(below, values, claims.cluster(run.queries))
    if not all(map(math.isfinite, (ratio.value, ratio.low, ratio.high))):
        raise AssayError(f"{run.manifest.id}: {wanted.of} is 0 in too many resamples")
    note = _join(f"{sum(values)} of {sum(below)}", _tell_claim(claims))
    return _measured([run], ratio, "share", note)


def _scores(run: StoredRun, measure: str, types: Sequence[str]) -> list[float]:
    """Return the score of each query of `types`, in the order of the run."""
    name = measure.removeprefix(COMPLEMENT)
    (by_query,) = run.score([name]).values()
    missing = measure.startswith(COMPLEMENT)
    return [1 - by_query[id_] if missing else by_query[id_] for id_ in _choose(run, types)]


def _choose(run: StoredRun, types: Sequence[str]) -> list[str]:
    """Return the ids of the queries of `types`, in the order of the run; all of none."""
    known = {query.type for query in run.queries.values()} - {""}
    if unknown := sorted(set(types) - known):
        there = ", ".join(sorted(known)) or "none"
        raise AssayError(
            f"query_types: {unknown[0]}: {run.manifest.collection.name} has no such queries; its "
            f"types: {there}"
        )
    return [id_ for id_, query in run.queries.items() if not types or query.type in types]


def _explain(run: StoredRun, k: int, queries: Sequence[str]) -> str:
    """Say what became of the answers to `queries`, by the one of each that came nearest."""
    items = attribute(run, k).items
    nearest = [
        min(items[query], key=lambda item: STATUSES.index(item.status))
        for query in queries
        if items[query]
    ]
    statuses = Counter(
        f"{item.status} by {item.where}" if item.status in ("demoted", "filtered") else item.status
        for item in nearest
    )
    told = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    return f"of {len(queries)} not in the first {k}: {told}"


def _tell_claim(claims: Claims) -> str:
    """Say in a clause what a figure holds for; "" where no queries share a document."""
    if claims.single:
        return ""
    weak = " (weak)" if claims.leading == "documents" and claims.strength == "weak" else ""
    return f"{claims.name(claims.leading)}{weak}"


def _join(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _by_stage(samples: Sequence[LatencySample]) -> dict[str, list[float]]:
    """Return the milliseconds of each query by stage, 0 where a query did not reach it."""
    if not samples:
        raise AssayError("latency.queries: no query was timed")
    names = dict.fromkeys(name for sample in samples for name in sample.milliseconds)
    return {name: [sample.milliseconds.get(name, 0.0) for sample in samples] for name in names}


def _counts(run: StoredRun, query: str, stage: str) -> Mapping[str, int]:
    """Return the counts of a stage in one query, added up where it stands twice."""
    found: Counter[str] = Counter()
    for entry in run.rankings[query].trace:
        if entry.name == stage:
            found.update(entry.counts)
    return found


def _measured(
    runs: Sequence[StoredRun], estimate: OpenEstimate, unit: Unit, note: str = ""
) -> MeasuredValue:
    notes = [note, *(line for run in runs for line in run.manifest.degraded)]
    return MeasuredValue(
        estimate=estimate,
        unit=unit,
        measured=max(run.manifest.created for run in runs),
        runs=tuple(run.manifest.id for run in runs),
        note="; ".join(filter(None, notes)),
    )
