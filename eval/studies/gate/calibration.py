"""Checking the gate itself: false alarms on unchanged runs, and planted drops found.

Both by resampling one run's scores per query. An unchanged run is a resample of the queries in
which a share of them moved: each such query got the scores of another, drawn at random, so that
up and down are equally likely and nothing changed on average. A drop of known size is planted by
taking all their scores from a share of the queries, drawn at random.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import DropPower
from assay.eval.statistics.significance import POWER
from assay.eval.studies.gate.foresight import foresee
from assay.eval.studies.gate.rule import find_regressions
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import Progress

Scores = NDArray[np.float64]

MOST_FALSE_ALARMS = 0.02
MOVED = (0.0, 0.1, 0.3, 1.0)
# Queries that move either way in a run with a planted drop.
BESIDES = 0.1
POWERS = (0.8, 0.95)
PILOTS = 30
BISECTIONS = 9
LEVELS = (0.05, 0.01, 0.001)


@dataclass(frozen=True, slots=True)
class AlarmRate:
    """Of `trials` runs in which a share of queries moved, on how many the gate raised an alarm."""

    moved: float
    trials: int
    alarms: int
    allowed: float = MOST_FALSE_ALARMS

    @property
    def holds(self) -> bool:
        """Whether false alarms are below the rate that is allowed."""
        return self.alarms < self.allowed * self.trials


@dataclass(frozen=True, slots=True)
class DetectionRate:
    """A true `drop`, the power the gate stated for it, and in how many trials it was found."""

    drop: float
    stated: float
    trials: int
    found: int

    @property
    def holds(self) -> bool:
        """Whether it was found as often as stated, but for two standard errors of the trials."""
        error = math.sqrt(self.stated * (1 - self.stated) / self.trials)
        return self.found / self.trials >= self.stated - 2 * error


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another rule would have done on the same trials: rates of false alarms and of finds."""

    rule: str
    alarms: float
    found: float


@dataclass(frozen=True)
class SelfTest:
    """The result. `measure` is the one in which drops were planted and looked for.

    `planted` is empty where this many queries cannot show any drop. `alternatives` give the worst
    rate of false alarms and the rate at which the drop stated at power 0.8 is found.
    """

    queries: int
    measure: str
    unchanged: tuple[AlarmRate, ...]
    planted: tuple[DetectionRate, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def holds(self) -> bool:
        """Whether the gate keeps what it states."""
        quiet = all(item.holds for item in self.unchanged)
        return quiet and all(item.holds for item in self.planted)

    def as_json(self) -> dict[str, Any]:
        """Return the result as the JSON object that `assay gate --self-test --json` prints."""
        return {"holds": self.holds, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the gate found in one trial: by measure, the mean difference and the p-values."""

    regressed: tuple[bool, ...]
    means: tuple[float, ...]
    p: tuple[float, ...]
    p_beyond: tuple[float, ...]  # of a drop beyond the minimum effect


def check(scores: Scores, settings: GateSettings, trials: int, progress: Progress) -> SelfTest:
    """Run the gate on resampled runs; the same call gives the same figures.

    `scores` are those of one run, of shape (queries, gated measures in the settings' order).
    """
    quiet = {
        share: [
            _try(*_resample(scores, share, 0.0, seed), settings)
            for seed in progress.track(range(trials), f"unchanged, {share:.0%} moved", trials)
        ]
        for share in MOVED
    }
    planted, found = [], {}
    pilots = [_foresee(*_resample(scores, BESIDES, 0.0, seed), settings) for seed in range(PILOTS)]
    for power in POWERS:
        lost = _find_share(scores, pilots, power)
        if lost is None:
            break
        drop = lost * float(scores[:, 0].mean())
        found[power] = [
            _try(*_resample(scores, BESIDES, lost, seed), settings)
            for seed in progress.track(range(trials), f"planted drops of {drop:.3f}", trials)
        ]
        stated = _state(pilots, drop)
        hits = sum(trial.regressed[0] for trial in found[power])
        planted.append(DetectionRate(drop, stated, trials, hits))
    return SelfTest(
        queries=len(scores),
        measure=next(iter(settings.measures)),
        unchanged=tuple(
            AlarmRate(share, trials, sum(any(trial.regressed) for trial in results))
            for share, results in quiet.items()
        ),
        planted=tuple(planted),
        alternatives=tuple(_weigh(quiet, found[POWER], settings)) if POWER in found else (),
    )


def _resample(scores: Scores, moved: float, lost: float, seed: int) -> tuple[Scores, Scores]:
    """Return the scores of base and head in a trial, both of the shape of `scores`."""
    rng = np.random.default_rng((SEED, round(1000 * moved), seed))
    n = len(scores)
    base = scores[rng.integers(n, size=n)]
    other = scores[rng.integers(n, size=n)]
    head = np.where(rng.random((n, 1)) < moved, other, base)
    head = np.where(rng.random((n, 1)) < lost, 0.0, head)
    return base, head


def _foresee(base: Scores, head: Scores, settings: GateSettings) -> DropPower:
    """Return what power the gate would state for the first measure after such a run."""
    critical = randomise_drops(head - base, settings.false_alarms).critical
    return next(foresee(base, head - base, critical, settings))


def _try(base: Scores, head: Scores, settings: GateSettings) -> _Trial:
    differences = head - base
    regressed, test = find_regressions(differences, settings)
    effects = np.array(list(settings.measures.values()))
    beyond = randomise_drops(differences + effects, settings.false_alarms)
    return _Trial(
        regressed=tuple(regressed),
        means=tuple(differences.mean(axis=0).tolist()),
        p=test.p_values,
        p_beyond=beyond.p_values,
    )


def _state(pilots: Sequence[DropPower], drop: float) -> float:
    """Return the power that the gate states for a `drop` in the first measure, on average."""
    return float(np.mean([pilot.state(drop) for pilot in pilots]))


def _find_share(scores: Scores, pilots: Sequence[DropPower], power: float) -> float | None:
    """Return the share of queries to take the scores from so that `power` is stated.

    None where even the loss of nearly all would be found less often.
    """
    mean = float(scores[:, 0].mean())
    low, high = 0.0, 0.9
    if _state(pilots, high * mean) < power:
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _state(pilots, middle * mean) < power else (low, middle)
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
