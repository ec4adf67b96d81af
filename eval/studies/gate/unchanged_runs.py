"""Simulated runs that did not change on average, and the margins of a pass that they set."""

import numpy as np
from numpy.typing import NDArray

from assay.eval.runs.summary.means import estimate_changes
from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.groups import Clusters
from assay.eval.studies.gate.settings import GateSettings

PASSING = 0.9  # share of unchanged runs that pass, with the assumed share of queries moved
RUNS = 400
# A run that may have lost more than this share of a measure's mean does not pass.
LARGEST_LOSS = 1 / 3

Scores = NDArray[np.float64]


def resample(scores: Scores, moved: float, seed: int) -> tuple[Scores, Scores]:
    """Return simulated scores of base and head, both of the shape of `scores`.

    The base is drawn with replacement. In the head the share `moved` of the queries has the scores
    of another query, drawn at random, so that gains and losses are equally likely.
    """
    rng = np.random.default_rng((SEED, round(1000 * moved), seed))
    n = len(scores)
    base = scores[rng.integers(n, size=n)]
    other = scores[rng.integers(n, size=n)]
    return base, np.where(rng.random((n, 1)) < moved, other, base)


def find_margins(
    scores: Scores, settings: GateSettings, clusters: Clusters | None = None
) -> list[float]:
    """Return the drop that a run must exclude to pass, by measure, from the baseline's scores.

    It is the drop that nine in ten unchanged runs exclude in all measures, if the share
    `settings.assumed_moves` of the queries moved; but at least the measure's minimum effect, and,
    unless that is larger, at most a third of the baseline's mean.

    Args:
        scores: The baseline's scores, of shape (queries, gated measures in the settings' order).
        settings: The measures with their minimum effects, and the share assumed to move.
        clusters: The groups of queries for intervals by group; None for intervals by query.

    """
    effects = np.array(list(settings.measures.values()))
    if not settings.assumed_moves:
        return [float(effect) for effect in effects]
    reaches = np.empty((RUNS, len(effects)))  # distance below 0 that each interval reaches
    for seed in range(RUNS):
        base, head = resample(scores, settings.assumed_moves, seed)
        for i, name in enumerate(settings.measures):
            reaches[seed, i] = -estimate_changes(name, head[:, i] - base[:, i], clusters).low
    typical = np.maximum(reaches.mean(axis=0), 1e-9)
    factor = float(np.quantile(np.max(reaches / typical, axis=1), PASSING))
    margins = np.minimum(factor * typical, LARGEST_LOSS * scores.mean(axis=0))
    return [float(margin) for margin in np.maximum(margins, effects)]
