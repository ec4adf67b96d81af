"""Checking the gate itself: false alarms on unchanged runs, planted drops found, and passes.

Both by resampling one run's scores per query. An unchanged run is a resample of the queries in
which a share of them moved: each such query got the scores of another, drawn at random, so that
up and down are equally likely and nothing changed on average. A drop of known size is planted by
taking as much from all queries, or all their scores from a share of them, drawn at random.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from assay.eval.runs.summary.means import estimate_changes
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import PowerCurve, foresee_drops
from assay.eval.statistics.significance import POWER
from assay.eval.studies.gate.report import Verdict
from assay.eval.studies.gate.rule import decide
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.unchanged_runs import Scores, find_margins, resample
from assay.retrievers.base import Progress

MOST_FALSE_ALARMS = 0.02
# A pass says so with 95 % confidence.
MOST_FALSE_PASSES = 0.05
MOVED = (0.0, 0.1, 0.3, 1.0)
# What a power that is stated from the differences of one run may be off.
MOST_OFF = 0.05
# Queries that move either way in a run with a planted drop.
BESIDES = 0.2
POWERS = (0.8, 0.95)
PILOTS = 20
BISECTIONS = 12
LEVELS = (0.05, 0.01, 0.001)

Kind = Literal["all queries", "a few"]
KINDS: tuple[Kind, ...] = ("all queries", "a few")


@dataclass(frozen=True, slots=True)
class AlarmRate:
    """Of `trials` runs in which a share of queries `moved`, how many got which verdict.

    An alarm is a regression, a doubt "cannot tell".
    """

    moved: float
    trials: int
    alarms: int
    passes: int
    doubts: int
    allowed: float = MOST_FALSE_ALARMS

    @property
    def holds(self) -> bool:
        """Whether false alarms are below the rate that is allowed."""
        return self.alarms < self.allowed * self.trials


@dataclass(frozen=True, slots=True)
class DetectionRate:
    """A true `drop`, the power the gate stated for it, and in how many trials it was found.

    `passes` are trials in which the measure passed.
    """

    kind: Kind
    drop: float
    stated: float
    trials: int
    found: int
    passes: int

    @property
    def holds(self) -> bool:
        """Whether it was found as often as stated, within .05 and two errors of the trials."""
        error = math.sqrt(self.stated * (1 - self.stated) / self.trials)
        return self.found / self.trials >= self.stated - MOST_OFF - 2 * error


@dataclass(frozen=True, slots=True)
class PassRate:
    """A true drop as large as the margin, and in how many trials the measure passed."""

    kind: Kind
    drop: float
    trials: int
    passes: int
    allowed: float = MOST_FALSE_PASSES

    @property
    def holds(self) -> bool:
        """Whether that happened as seldom as a pass states, but for two standard errors."""
        error = math.sqrt(self.allowed * (1 - self.allowed) / self.trials)
        return self.passes / self.trials <= self.allowed + 2 * error


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another rule would have done on the same trials: rates of false alarms and of finds."""

    rule: str
    alarms: float
    found: float


@dataclass(frozen=True)
class SelfTest:
    """The result. `measure` is the one in which drops were planted and looked for.

    `margins` are what a pass excludes, by measure. `planted` is empty where this many queries
    cannot show any drop. `alternatives` give the worst rate of false alarms and the rate at which
    the drop of a few queries stated at power 0.8 is found.
    """

    queries: int
    measure: str
    margins: dict[str, float]
    unchanged: tuple[AlarmRate, ...]
    planted: tuple[DetectionRate, ...]
    at_margin: tuple[PassRate, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def holds(self) -> bool:
        """Whether the gate keeps what it states."""
        parts: tuple[Sequence[AlarmRate | DetectionRate | PassRate], ...] = (
            self.unchanged,
            self.planted,
            self.at_margin,
        )
        return all(item.holds for part in parts for item in part)

    def as_json(self) -> dict[str, Any]:
        """Return the result as the JSON object that `assay gate --self-test --json` prints."""
        return {"holds": self.holds, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the gate found in one trial, by measure."""

    verdicts: tuple[Verdict, ...]
    means: tuple[float, ...]
    p: tuple[float, ...]
    p_beyond: tuple[float, ...]  # of a drop beyond the minimum effect


def check(scores: Scores, settings: GateSettings, trials: int, progress: Progress) -> SelfTest:
    """Run the gate on resampled runs; the same call gives the same figures.

    `scores` are those of one run, of shape (queries, gated measures in the settings' order).
    """
    margins = find_margins(scores, settings)

    def run(title: str, moved: float, kind: Kind, drop: float) -> list[_Trial]:
        seeds = progress.track(range(trials), title, trials)
        return [_try(*_plant(scores, moved, kind, drop, i), margins, settings) for i in seeds]

    quiet = {share: run(f"unchanged, {share:.0%} moved", share, "a few", 0) for share in MOVED}
    planted, found = [], {}
    pilots = [_foresee(*resample(scores, BESIDES, 0.0, seed), settings) for seed in range(PILOTS)]
    for kind in KINDS:
        for power in POWERS:
            drop = _find_drop(float(scores[:, 0].mean()), pilots, kind, power)
            if drop is None:
                break
            found[kind, power] = run(f"planted drops of {drop:.3f}", BESIDES, kind, drop)
            hits, passes = (
                sum(trial.verdicts[0] == verdict for trial in found[kind, power])
                for verdict in ("regression", "pass")
            )
            stated = _state(pilots, kind, drop)
            planted.append(DetectionRate(kind, drop, stated, trials, hits, passes))
    largest = min(margins[0], float(scores[:, 0].mean()))
    at_margin = [
        PassRate(kind, largest, trials, sum(trial.verdicts[0] == "pass" for trial in results))
        for kind in KINDS
        if (results := run(f"drops of the margin, {largest:.3f}", BESIDES, kind, largest))
    ]
    worst = found.get((KINDS[-1], POWER))
    return SelfTest(
        queries=len(scores),
        measure=next(iter(settings.measures)),
        margins=dict(zip(settings.measures, margins, strict=True)),
        unchanged=tuple(_count(share, results) for share, results in quiet.items()),
        planted=tuple(planted),
        at_margin=tuple(at_margin),
        alternatives=tuple(_weigh(quiet, worst, settings)) if worst else (),
    )


def _count(moved: float, trials: Sequence[_Trial]) -> AlarmRate:
    """Count the verdicts on whole runs."""
    grave: tuple[Verdict, ...] = ("regression", "warning", "cannot tell", "pass")
    found = [next(item for item in grave if item in trial.verdicts) for trial in trials]
    counts = (found.count(item) for item in ("regression", "pass", "cannot tell"))
    return AlarmRate(moved, len(trials), *counts)


def _plant(
    scores: Scores, moved: float, kind: Kind, drop: float, seed: int
) -> tuple[Scores, Scores]:
    """Return the scores of base and head of a trial with a true drop of the first measure."""
    if kind == "all queries":
        base, head = resample(scores, moved, 0.0, seed)
        return base, head - drop
    return resample(scores, moved, drop / max(float(scores[:, 0].mean()), drop, 1e-9), seed)


def _foresee(base: Scores, head: Scores, settings: GateSettings) -> dict[Kind, PowerCurve]:
    """Return what power the gate would state for the first measure after such a run."""
    effects = list(settings.measures.values())
    power = foresee_drops(base, head - base, settings.false_alarms, effects)[0]
    return {"all queries": power.spread, "a few": power.sparse}


def _try(base: Scores, head: Scores, margins: Sequence[float], settings: GateSettings) -> _Trial:
    differences, level = head - base, settings.false_alarms
    p_values = randomise_drops(differences, level).p_values
    effects = list(settings.measures.values())
    estimates = [
        estimate_changes(name, differences[:, i]) for i, name in enumerate(settings.measures)
    ]
    return _Trial(
        verdicts=tuple(
            decide(*each, level) for each in zip(estimates, p_values, effects, margins, strict=True)
        ),
        means=tuple(differences.mean(axis=0).tolist()),
        p=p_values,
        p_beyond=randomise_drops(differences + np.array(effects), level).p_values,
    )


def _state(pilots: Sequence[Mapping[Kind, PowerCurve]], kind: Kind, drop: float) -> float:
    """Return the power that the gate states for a `drop` in the first measure, on average."""
    return float(np.mean([pilot[kind].state(drop) for pilot in pilots]))


def _find_drop(
    mean: float, pilots: Sequence[Mapping[Kind, PowerCurve]], kind: Kind, power: float
) -> float | None:
    """Return the drop for which `power` is stated; None where 90 % of `mean` is too small."""
    low, high = 0.0, 0.9 * mean
    if _state(pilots, kind, high) < power:
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _state(pilots, kind, middle) < power else (low, middle)
    return high


def _weigh(
    quiet: Mapping[float, Sequence[_Trial]], found: Sequence[_Trial], settings: GateSettings
) -> Iterator[Alternative]:
    """Yield what other rules would have done."""
    effects = tuple(settings.measures.values())

    def drops(level: float) -> Callable[[_Trial], list[bool]]:
        return lambda trial: [
            mean <= -effect and p <= level
            for mean, p, effect in zip(trial.means, trial.p, effects, strict=True)
        ]

    level = settings.false_alarms
    rules: dict[str, Callable[[_Trial], list[bool]]] = {
        **{f"this rule at level {i:g}": drops(i) for i in sorted({*LEVELS, level})},
        f"a drop beyond the minimum effect is shown at level {level:g}": lambda trial: [
            p <= level for p in trial.p_beyond
        ],
    }
    for name, rule in rules.items():
        alarms = [sum(any(rule(trial)) for trial in trials) for trials in quiet.values()]
        yield Alternative(
            name, max(alarms) / len(found), sum(rule(trial)[0] for trial in found) / len(found)
        )
