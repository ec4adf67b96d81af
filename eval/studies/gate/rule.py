"""The rule of the gate: the verdict on a pipeline against its committed baseline.

The rule, for each measure, on the paired differences head - baseline of all queries:

* regression: the mean drop is at least the measure's minimum effect, and the randomisation test of
  all gated measures together gives it a p-value of at most `false_alarms`;
* warning: the same with a p-value above `false_alarms` and of at most .05. Few queries cannot show
  more than that; it is a false alarm in at most 5 % of unchanged runs;
* pass: the 95 % interval of the mean difference excludes a drop of the measure's margin, which
  follows from the number of queries and their scores in the baseline (`unchanged_runs`). If all
  differences are equal, the interval has width 0, and the queries must also be enough to show some
  drop;
* cannot tell: none of these. The interval reaches beyond the margin; more queries would tell.

If the verdict is on documents like these (`Claims`), signs are drawn by group, and intervals are by
group; no p-value is below that by question. The verdicts of the other claim are computed too.

If rankings change when the index is built again (`rebuild`), a drop must exceed the minimum effect
by the amount that a second build moves the mean, the interval of a pass must exclude a drop smaller
than the margin by that amount, and a query is broken only if it is so in both builds. If the amount
is unknown, no drop is judged.

If the collection changed since the baseline, the base is the baseline's pipeline on today's
collection (`baseline_pipeline`), so that the two differ by the pipeline alone. If that did not
change, the two are one run, which passes; so does a run of the identity of the accepted one whose
scores are its.

A query named in `must_not_break` that scores lower than in the baseline is a regression by itself.
Latency is judged by the ratio of percentiles, head / base, of two pipelines timed interleaved: a
regression if its whole interval lies above the limit, a pass if it lies below. It cannot tell if
other processes were using the machine.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.eval.runs.execution.interleaved_timing import PairTimes
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import allows_ratio, estimate_percentile_ratio
from assay.eval.studies.gate.attribution import CollectionChange
from assay.eval.studies.gate.baseline import Baseline, list_changes, score
from assay.eval.studies.gate.measure_verdicts import Judgement, Scores, Verdict, judge_measures
from assay.eval.studies.gate.obstacles import list_obstacles
from assay.eval.studies.gate.query_changes import is_broken, list_losers
from assay.eval.studies.gate.rebuild import Rebuild
from assay.eval.studies.gate.settings import GateSettings, LatencyLimits
from assay.eval.studies.gate.verdicts import GateVerdict, LatencyVerdict
from assay.retrievers.base import AssayError

MOST_LOSERS = 10


def judge(
    baseline: Baseline,
    head: StoredRun,
    settings: GateSettings,
    latency: Sequence[LatencyVerdict] = (),
    rebuild: Rebuild | None = None,
    change: CollectionChange | None = None,
) -> GateVerdict:
    """Judge a run against its baseline; with a `change` of the collection, against its pipeline.

    Raises AssayError if the two cannot be compared, or lack something that the settings ask for.
    """
    if obstacles := list_obstacles(baseline, head, change.base if change else None):
        raise AssayError(f"{head.manifest.id} cannot be judged: {'; '.join(obstacles)}")
    if change is None:
        _check_measures(baseline, settings)
    base = score(change.base, settings.scored) if change else baseline.scores
    scores = score(head, settings.scored)
    guarded = _list_guarded(baseline, head, settings, change)
    first, kept = next(iter(settings.measures)), settings.must_not_break.measure
    lost = list_losers(base, head, scores, kept)
    same = change.same if change else _is_same(baseline, head) and base == scores
    claims = Claims.of(head)
    clusters = claims.cluster(scores)
    shifts = _find_shifts(rebuild)
    measures = tuple(judge_measures(base, scores, settings, clusters, shifts, same=same))
    return GateVerdict(
        baseline=baseline,
        head=head,
        false_alarms=settings.false_alarms,
        measures=measures,
        guarded=tuple(guarded),
        broken=tuple(item for item in lost if item.query in guarded and is_broken(item, rebuild)),
        losers=tuple(list_losers(base, head, scores, first)[:MOST_LOSERS]),
        changes=tuple(list_changes(baseline, head)),
        latency=tuple(latency),
        rebuild=rebuild,
        collection=change,
        claims=claims,
        opposite=_judge_opposite(base, scores, settings, rebuild, claims),
    )


def _is_same(baseline: Baseline, head: StoredRun) -> bool:
    """Return True if the head has the identity of the accepted run, whose id ends with it."""
    return baseline.run.endswith(head.manifest.identity[:8])


def _list_guarded(
    baseline: Baseline, head: StoredRun, settings: GateSettings, change: CollectionChange | None
) -> list[str]:
    """Return the queries that must not break, without those removed by a `change`."""
    named = settings.must_not_break.queries.get(head.manifest.collection.name, [])
    gone = baseline.scores.keys() if change else ()
    if unknown := [id_ for id_ in named if id_ not in head.queries and id_ not in gone]:
        raise AssayError(
            f"must_not_break: {unknown[0]!r} is no query of {head.manifest.collection.name}"
        )
    return [id_ for id_ in named if id_ in head.queries]


def judge_latency(times: PairTimes, limits: LatencyLimits) -> list[LatencyVerdict]:
    """Judge latencies that were timed interleaved; "cannot tell" if the machine was busy."""
    base, head, load = times
    busy = load.is_busy(limits.busy)
    found = []
    for percent, limit in ((50, limits.p50), (95, limits.p95)):
        ratio = estimate_percentile_ratio(base, head, percent)
        verdict: Verdict = "cannot tell"
        if allows_ratio(ratio.n, percent) and not busy:
            if ratio.low > limit:
                verdict = "regression"
            elif ratio.high < limit:
                verdict = "pass"
        before, after = (float(np.percentile(taken, percent)) for taken in (base, head))
        found.append(LatencyVerdict(percent, verdict, before, after, ratio, limit, load, busy))
    return found


def _find_shifts(rebuild: Rebuild | None) -> Mapping[str, float] | None:
    """Return the amount by which another build moves each mean; None if it is not known."""
    if rebuild is None:
        return {}
    return None if rebuild.scores is None else rebuild.shifts


def _check_measures(baseline: Baseline, settings: GateSettings) -> None:
    held = next(iter(baseline.scores.values()), {})
    if missing := [name for name in settings.scored if name not in held]:
        raise AssayError(
            f"the baseline {baseline.label} holds no {', '.join(missing)}; it holds "
            f"{', '.join(held)}: gate those or accept a new one"
        )


def _judge_opposite(
    base: Scores,
    head: Scores,
    settings: GateSettings,
    rebuild: Rebuild | None,
    claims: Claims,
) -> dict[str, Verdict]:
    """Return the verdicts of the claim that does not lead, by measure.

    The result is empty if both claims have the same test, and if the other claim is on documents
    like these, which the questions cannot support.
    """
    if claims.single or (claims.leading == "questions" and claims.strength == "cannot tell"):
        return {}
    clusters = claims.sampling.cluster(head) if claims.leading == "questions" else None
    found = Judgement(base, head, settings, clusters, _find_shifts(rebuild))
    return {name: found.decide(i) for i, name in enumerate(settings.measures)}
