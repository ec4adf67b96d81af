"""Normalisation of the scores of one list, so that lists can be added up: pure functions.

Each function `normalise_…` returns one number per score, in their order, and none for none.
"""

from collections.abc import Sequence
from typing import Literal

HEAD = 20  # scores that the best is compared with, to measure how far it stands out


def normalise_min_max(scores: Sequence[float]) -> list[float]:
    """Map the lowest score to 0 and the highest to 1; equal scores all become 1."""
    if not scores:
        return []
    low, span = min(scores), max(scores) - min(scores)
    return [(score - low) / span if span > 0 else 1.0 for score in scores]


def normalise_between(scores: Sequence[float], floor: float) -> list[float]:
    """Map `floor`, the lowest score there can be, to 0 and the highest of `scores` to 1.

    A highest score that is not above the floor makes all 1, as equal scores are.
    """
    span = max(scores, default=floor) - floor
    return [(score - floor) / span if span > 0 else 1.0 for score in scores]


def normalise_z_score(
    scores: Sequence[float], above: Literal["mean", "lowest"] = "mean"
) -> list[float]:
    """Return population deviations above the mean or the lowest score; equal ones all become 1.

    Above the lowest, a candidate at the foot of one list does not rank below a chunk which that
    list did not return at all.
    """
    if not scores:
        return []
    mean, deviation = measure_spread(scores)
    origin = mean if above == "mean" else min(scores)
    return [(score - origin) / deviation if deviation > 0 else 1.0 for score in scores]


def normalise_deviations(scores: Sequence[float]) -> list[float]:
    """Map three sample deviations below and above the mean to 0 and 1; equal ones become 0.5.

    Source: Mazzeschi, "Distribution-Based Score Fusion", 2023.
    """
    if not scores:
        return []
    mean, deviation = measure_spread(scores, sample=True)
    return [(score - mean) / (6 * deviation) + 0.5 if deviation > 0 else 0.5 for score in scores]


def normalise_l2(scores: Sequence[float]) -> list[float]:
    """Divide by the Euclidean norm of the list; return zeros for zeros."""
    norm = sum(score**2 for score in scores) ** 0.5
    return [score / norm if norm > 0 else 0.0 for score in scores]


def measure_confidence(scores: Sequence[float]) -> float:
    """Return how far the first of `scores`, best first, stands out: never below 0.

    It is the first less the mean of the first 20, divided by the population standard deviation of
    all. It is 1 for equal scores and for a single one: nothing is known of those that would follow.
    """
    head = scores[:HEAD]
    _, deviation = measure_spread(scores)
    # Of equal scores the mean may be above them in its last bit.
    lead = max(head[0] - sum(head) / len(head), 0.0)
    return lead / deviation if deviation > 0 else 1.0


def measure_spread(scores: Sequence[float], sample: bool = False) -> tuple[float, float]:
    """Return mean and standard deviation, of a `sample` or the population; 0 for one score."""
    mean = sum(scores) / len(scores)
    degrees = len(scores) - sample
    squares = sum((score - mean) ** 2 for score in scores)
    # Of equal scores the mean may be off in its last bit.
    if degrees == 0 or min(scores) == max(scores):
        return mean, 0.0
    return mean, (squares / degrees) ** 0.5
