"""The verdict on each measure, from the scores of a base and a head alone, without runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.eval.runs.summary.means import estimate_changes, find_largest
from assay.eval.scoring.measures import find, list_standard
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import Clusters
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import foresee_drops
from assay.eval.statistics.significance import TIE, presumes_symmetry
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.unchanged_runs import find_margins

Verdict = Literal["pass", "regression", "warning", "cannot tell"]
Scores = Mapping[str, Mapping[str, float]]  # by query id and measure
SETTLED: Mapping[str, float] = {}
SUSPICION = 0.05  # the level of a warning
# A pass is weak if the loss that may go unnoticed exceeds this share of a mean.
WEAK = 0.1


def name_measures(found: "Sequence[MeasureVerdict]") -> dict[str, str]:
    """Return the names that ir-measures has for the gated measures, by ours."""
    return list_standard(item.measure for item in found)


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """The verdict on one measure.

    Attributes:
        measure: The name of the measure. If lower is better, a drop is a rise of it, in all below.
        verdict: The verdict.
        base: The mean of the base.
        head: The mean of the head.
        difference: The mean of head - base over queries, with its 95 % interval.
        p: The one-sided p-value of a drop, adjusted for all gated measures.
        minimum_effect: The smallest drop that can be a regression.
        margin: The drop that a pass excludes.
        finds: The smallest true drop that is found with power 0.8 however it is distributed over
            queries, given the variance of these differences; None if none would be found.
        finds_spread: The same for a drop of a little from all queries, which is easier to find.
        wins: The number of queries that gained.
        ties: The number of queries with equal scores.
        losses: The number of queries that lost.
        presumes_symmetry: True for a regression or warning that is one only if large gains and
            losses are equally rare.

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


def decide(estimate: Estimate, p: float, effect: float, margin: float, level: float) -> Verdict:
    """Return the verdict on a measure's mean difference, head - base, and its p-value for a drop.

    `effect` is the minimum effect, `level` the largest p-value of a regression.
    """
    if estimate.value <= TIE - effect and p <= max(level, SUSPICION):
        return "regression" if p <= level else "warning"
    return "pass" if estimate.low > -margin else "cannot tell"


def find_unnoticed(measures: Iterable[MeasureVerdict]) -> float:
    """Return the largest share of a gated mean that could be lost unnoticed; 0 for none.

    That is so if there are too few queries. Only shares above `WEAK` count, and only losses above
    the minimum effect.
    """
    shares = (
        item.margin / item.base
        for item in measures
        if item.base > 0 and item.margin > item.minimum_effect and find(item.measure).sign > 0
    )
    return max((share for share in shares if share > WEAK), default=0.0)


class Judgement:
    """The measures of a run compared with those of its base, tested together.

    A measure whose lower scores are better is compared by 1 - score. With `clusters` p-values and
    intervals hold by question too, as a claim on other documents includes new questions. `shifts`
    is the amount by which another build of the index moves the mean of each measure; None if that
    is unknown, so that no drop is judged.
    """

    def __init__(
        self,
        base: Scores,
        head: Scores,
        settings: GateSettings,
        clusters: Clusters | None,
        shifts: Mapping[str, float] | None = SETTLED,
    ) -> None:
        names = list(settings.measures)
        self.before = np.array([[base[query][name] for name in names] for query in head])
        self.after = np.array([[head[query][name] for name in names] for query in head])
        for i in (i for i, name in enumerate(names) if find(name).sign < 0):  # shares
            self.before[:, i], self.after[:, i] = 1 - self.before[:, i], 1 - self.after[:, i]
        self.differences = self.after - self.before
        self.effects = list(settings.measures.values())
        self.margins = find_margins(self.before, settings, clusters)
        self._level = settings.false_alarms
        self._shifts = [(shifts or {}).get(name, 0.0) for name in names]
        self._unsettled = shifts is None
        self.p_values = randomise_drops(self.differences, self._level).p_values
        if clusters is not None:
            by_group = randomise_drops(self.differences, self._level, clusters).p_values
            self.p_values = tuple(map(max, self.p_values, by_group))
        self.estimates = [
            estimate_changes(name, self.differences[:, i], clusters) for i, name in enumerate(names)
        ]

    def decide(self, i: int) -> Verdict:
        """Return the verdict on the measure at place `i` of the settings."""
        shift, margin = self._shifts[i], self.margins[i]
        verdict = decide(
            self.estimates[i],
            self.p_values[i],
            self.effects[i] + shift,
            margin - shift,
            self._level,
        )
        if self._unsettled and verdict in ("regression", "warning"):
            return "cannot tell"
        return verdict


def judge_measures(
    base: Scores,
    head: Scores,
    settings: GateSettings,
    clusters: Clusters | None,
    shifts: Mapping[str, float] | None = SETTLED,
    *,
    same: bool = False,
    foreseeing: bool = True,
) -> Iterator[MeasureVerdict]:
    """Yield the verdict on each gated measure.

    Args:
        base: The scores to compare with; they include all queries of `head`.
        head: The scores that are judged.
        settings: The measures with their minimum effects, and the level.
        clusters: The groups of queries, in the order of `head`; None to judge by query.
        shifts: As in `Judgement`.
        same: True if nothing changed, so that there is no drop to find.
        foreseeing: If True, compute the drops that would be found, which takes seconds; else
            `finds` and `finds_spread` are None unless a verdict depends on them.

    """
    found = Judgement(base, head, settings, clusters, shifts)
    before, level = found.before, settings.false_alarms
    # Equal differences have an interval of width 0, whatever their number.
    flat = any(item.low == item.high for item in found.estimates) and not same
    powers = (
        foresee_drops(before, found.differences, level, found.effects, clusters)
        if foreseeing or flat
        else None
    )
    for i, (name, effect) in enumerate(settings.measures.items()):
        differences, estimate = found.differences[:, i], found.estimates[i]
        finds, verdict = powers[i].find() if powers else None, found.decide(i)
        if verdict == "pass" and not same and finds is None and estimate.low == estimate.high:
            verdict = "cannot tell"
        n = len(differences)
        wins = int(np.count_nonzero(differences > TIE))
        losses = int(np.count_nonzero(differences < -TIE))
        yield MeasureVerdict(
            measure=name,
            verdict=verdict,
            base=_average(base, head, name),
            head=_average(head, head, name),
            difference=estimate if find(name).sign > 0 else _negate(estimate),
            p=found.p_values[i],
            minimum_effect=effect,
            margin=found.margins[i],
            finds=finds,
            finds_spread=powers[i].spread.find() if powers else None,
            wins=wins,
            ties=n - wins - losses,
            losses=losses,
            presumes_symmetry=verdict in ("regression", "warning")
            and presumes_symmetry(differences.tolist(), find_largest(name, differences.tolist())),
        )


def _average(scores: Scores, queries: Iterable[str], measure: str) -> float:
    return float(np.mean([scores[query][measure] for query in queries]))


def _negate(estimate: Estimate) -> Estimate:
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)
