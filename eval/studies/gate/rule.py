"""The gate: has a pipeline got worse than its committed baseline?

The rule, for each measure, on the paired differences head - baseline of all queries:

* regression: the mean drop is at least the measure's minimum effect, and the randomisation test of
  all gated measures together gives it a p-value of at most `false_alarms`;
* warning: the same with a p-value above `false_alarms` and of at most .05. With few queries that is
  all they can show; it is a false alarm in at most 5 % of unchanged runs;
* pass: the 95 % interval of the mean difference excludes a drop of the measure's margin, which
  follows from the number of queries and their scores in the baseline (`unchanged_runs`); where all
  differences are equal it has no width, and so many queries must be able to show some drop besides;
* cannot tell: none of these. The interval reaches beyond the margin; more queries would tell.

Where rankings move when the index is built again (`rebuild`), a drop must exceed the minimum effect
by what a second build moves the mean, the interval of a pass must exclude as much less than the
margin, and a query is broken only if it is so in both builds. Where that is unknown, no drop is
judged.

A query named in `must_not_break` that scores lower than in the baseline is a regression by itself.
Latency is judged by the ratio of percentiles, head / base, of two pipelines timed interleaved: a
regression where its whole interval lies above the limit, a pass where it lies below. On a machine
where other processes were working it cannot tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from assay.eval.collections.judgment_source import describe_models
from assay.eval.runs.execution.interleaved_timing import PairTimes
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.means import estimate_changes
from assay.eval.scoring.measures import list_standard
from assay.eval.statistics.estimates import Estimate, allows_ratio, estimate_percentile_ratio
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import foresee_drops
from assay.eval.statistics.significance import TIE, presumes_symmetry
from assay.eval.studies.comparison.differences import find_largest
from assay.eval.studies.gate.baseline import Baseline, list_changes, list_obstacles, make
from assay.eval.studies.gate.query_changes import QueryChange, is_broken, list_losers
from assay.eval.studies.gate.rebuild import Rebuild
from assay.eval.studies.gate.settings import GateSettings, LatencyLimits
from assay.eval.studies.gate.unchanged_runs import find_margins
from assay.retrievers.base import AssayError

Verdict = Literal["pass", "regression", "warning", "cannot tell"]
SUSPICION = 0.05  # the level of a warning
MOST_LOSERS = 10


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """What became of one measure.

    `difference` is the mean of head - base over queries with its 95 % interval. `p` is one-sided,
    for a drop, and adjusted for all gated measures. A pass excludes drops beyond `margin`. `finds`
    is the smallest true drop that is found with power 0.8 however it comes about, given how much
    these differences vary, and `finds_spread` that of a little from all queries, which is easier to
    find; None where no drop would be found. `presumes_symmetry` says of a regression or warning
    that it is one only if large gains and losses are equally rare.
    """

    measure: str
    verdict: Verdict
    base: float
    head: float
    difference: Estimate
    p: float
    minimum_effect: float
    margin: float
    finds: float | None
    finds_spread: float | None
    wins: int
    ties: int
    losses: int
    presumes_symmetry: bool


@dataclass(frozen=True, slots=True)
class LatencyVerdict:
    """What became of a percentile of latency, in milliseconds, both timed in one job.

    `load` is who worked on the machine meanwhile. `busy` says that others did so much that the
    ratio cannot be judged.
    """

    percentile: int
    verdict: Verdict
    base: float
    head: float
    ratio: Estimate
    limit: float
    load: MachineLoad
    busy: bool


@dataclass(frozen=True)
class GateReport:
    """The verdict on a run.

    `guarded` are the ids of the queries that must not break and `broken` those of them that did;
    `losers` are the queries that lost most by the first gated measure. `changes` says what of
    config and code changed since the baseline. `latency` is empty where none was measured.
    `rebuild` is what another build of the index does, None where each gives the same rankings.
    `false_alarms` is the level that a p-value must reach.
    """

    baseline: Baseline
    head: StoredRun
    false_alarms: float
    measures: tuple[MeasureVerdict, ...]
    guarded: tuple[str, ...]
    broken: tuple[QueryChange, ...]
    losers: tuple[QueryChange, ...]
    changes: tuple[str, ...]
    latency: tuple[LatencyVerdict, ...]
    rebuild: Rebuild | None = None

    @property
    def verdict(self) -> Verdict:
        """The gravest of all: regression, warning, cannot tell, pass."""
        if self.broken:
            return "regression"
        found = {item.verdict for item in self.measures} | {item.verdict for item in self.latency}
        if self.unsettled:
            found.add("cannot tell")
        grave: tuple[Verdict, ...] = ("regression", "warning", "cannot tell")
        return next((verdict for verdict in grave if verdict in found), "pass")

    @property
    def unsettled(self) -> str:
        """Why what may be a drop is not judged: another build may be as different; else ""."""
        if self.rebuild is None or self.rebuild.scores is not None:
            return ""
        doubted = self.guarded or any(item.verdict == "cannot tell" for item in self.measures)
        return self.rebuild.words if doubted else ""

    @property
    def models(self) -> str:
        """What share of the judgments is a language model's, in a sentence; "" where none is."""
        return describe_models(self.head.gold.values())

    def fails(self, strict: bool) -> bool:
        """Say whether CI is to fail: on a regression; if `strict` on all that is no pass."""
        return self.verdict == "regression" or (strict and self.verdict != "pass")

    def as_json(self) -> dict[str, Any]:
        """Return the report as the JSON object that `assay gate --json` prints."""
        baseline = self.baseline
        return {
            "verdict": self.verdict,
            "config": baseline.name,
            "collection": baseline.collection.name,
            "queries": len(self.head.queries),
            "run": self.head.manifest.id,
            "baseline": {key: getattr(baseline, key) for key in ("run", "code", "created")},
            "changes": list(self.changes),
            "judged_by_model": self.models or None,
            "false_alarms": self.false_alarms,
            "measures": [asdict(item) for item in self.measures],
            "ir_measures": list_standard(item.measure for item in self.measures),
            "must_not_break": {
                "queries": list(self.guarded),
                "broken": [asdict(item) for item in self.broken],
            },
            "latency": [{**asdict(item), "load": item.load.model_dump()} for item in self.latency],
            "rebuild": self.rebuild and self.rebuild.as_json(),
            "losers": [asdict(item) for item in self.losers],
        }


def judge(
    baseline: Baseline,
    head: StoredRun,
    settings: GateSettings,
    latency: Sequence[LatencyVerdict] = (),
    rebuild: Rebuild | None = None,
) -> GateReport:
    """Judge a run against its baseline.

    Raises AssayError when the two cannot be compared, or the settings ask for what they lack.
    """
    if obstacles := list_obstacles(baseline, head):
        raise AssayError(f"{head.manifest.id} cannot be judged: {'; '.join(obstacles)}")
    _check_measures(baseline, settings)
    scores = make(head, settings.scored).scores
    guarded = settings.must_not_break.queries.get(head.manifest.collection.name, [])
    if unknown := [id_ for id_ in guarded if id_ not in head.queries]:
        raise AssayError(
            f"must_not_break: {unknown[0]!r} is no query of {head.manifest.collection.name}"
        )
    first, kept = next(iter(settings.measures)), settings.must_not_break.measure
    lost = list_losers(baseline, head, scores, kept)
    return GateReport(
        baseline=baseline,
        head=head,
        false_alarms=settings.false_alarms,
        measures=tuple(_judge_measures(baseline.scores, scores, settings, rebuild)),
        guarded=tuple(guarded),
        broken=tuple(item for item in lost if item.query in guarded and is_broken(item, rebuild)),
        losers=tuple(list_losers(baseline, head, scores, first)[:MOST_LOSERS]),
        changes=tuple(list_changes(baseline, head)),
        latency=tuple(latency),
        rebuild=rebuild,
    )


def decide(estimate: Estimate, p: float, effect: float, margin: float, level: float) -> Verdict:
    """Return the verdict on a measure's mean difference, head - base, and its p-value for a drop.

    `effect` is the minimum effect, `level` what a p-value must reach for a regression.
    """
    if estimate.value <= TIE - effect and p <= max(level, SUSPICION):
        return "regression" if p <= level else "warning"
    return "pass" if estimate.low > -margin else "cannot tell"


def judge_latency(times: PairTimes, limits: LatencyLimits) -> list[LatencyVerdict]:
    """Judge latencies that were timed interleaved; none on a machine that was busy."""
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


def _check_measures(baseline: Baseline, settings: GateSettings) -> None:
    held = next(iter(baseline.scores.values()), {})
    if missing := [name for name in settings.scored if name not in held]:
        raise AssayError(
            f"the baseline {baseline.label} holds no {', '.join(missing)}; it holds "
            f"{', '.join(held)}: gate those or accept a new one"
        )


def _judge_measures(
    base: Mapping[str, Mapping[str, float]],
    head: Mapping[str, Mapping[str, float]],
    settings: GateSettings,
    rebuild: Rebuild | None,
) -> Iterator[MeasureVerdict]:
    names = list(settings.measures)
    before = np.array([[base[query][name] for name in names] for query in head])
    after = np.array([[head[query][name] for name in names] for query in head])
    test = randomise_drops(after - before, settings.false_alarms)
    effects = list(settings.measures.values())
    powers = foresee_drops(before, after - before, settings.false_alarms, effects)
    margins = find_margins(before, settings)
    for i, (name, effect) in enumerate(settings.measures.items()):
        differences = (after - before)[:, i]
        estimate = estimate_changes(name, differences)
        finds = powers[i].find()
        p = test.p_values[i]
        shift = rebuild.shifts.get(name, 0.0) if rebuild else 0.0
        verdict = decide(estimate, p, effect + shift, margins[i] - shift, settings.false_alarms)
        if rebuild and rebuild.scores is None and verdict in ("regression", "warning"):
            verdict = "cannot tell"
        # Equal differences have an interval of no width, whatever their number.
        if verdict == "pass" and finds is None and estimate.low == estimate.high:
            verdict = "cannot tell"
        n = len(differences)
        wins = int(np.count_nonzero(differences > TIE))
        losses = int(np.count_nonzero(differences < -TIE))
        yield MeasureVerdict(
            measure=name,
            verdict=verdict,
            base=float(np.mean(before[:, i])),
            head=float(np.mean(after[:, i])),
            difference=estimate,
            p=p,
            minimum_effect=effect,
            margin=margins[i],
            finds=finds,
            finds_spread=powers[i].spread.find(),
            wins=wins,
            ties=n - wins - losses,
            losses=losses,
            presumes_symmetry=verdict in ("regression", "warning")
            and presumes_symmetry(differences.tolist(), find_largest(name, differences.tolist())),
        )
