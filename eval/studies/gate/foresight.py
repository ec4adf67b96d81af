"""What drops the gate would find, given how much the scores of two runs differ without one."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import DropPower
from assay.eval.studies.gate.settings import GateSettings

SAMPLES = 5

Scores = NDArray[np.float64]


def foresee(
    base: Scores, differences: Scores, critical: float, settings: GateSettings
) -> Iterator[DropPower]:
    """Yield the power of the gate for drops of each measure.

    `base` and `differences` are of shape (queries, measures in the settings' order), `critical` the
    limit of the test of these differences. That of differences with a drop in them is higher, the
    fewer queries moved before: it is taken from samples with the drop that would else be stated to
    be found with power 0.8, as everything from a few queries.
    """
    level = settings.false_alarms
    for i, effect in enumerate(settings.measures.values()):
        power = DropPower(base[:, i], differences[:, i], critical, level, effect)
        if drop := power.find():
            share = drop / float(np.mean(base[:, i]))
            limits = [_find_limit(base, differences, share, seed, level) for seed in range(SAMPLES)]
            power = replace(power, critical=max(critical, float(np.mean(limits))))
        yield power


def _find_limit(base: Scores, differences: Scores, lost: float, seed: int, level: float) -> float:
    """Return the limit of the test where a share of the queries, drawn at random, lost all."""
    chances = np.random.default_rng((SEED, seed)).random((len(base), 1))
    return randomise_drops(np.where(chances < lost, -base, differences), level).critical
