"""Racing: points are scored on ever more queries, and those that cannot win drop out.

The first look chooses a few leaders, which are scored on all queries; the best of these is what the
others are held against. A point is dropped once its mean over all queries is shown to be less than
an effect above the leader's, by a bound that holds at every look. Only the best point of all has a
say in the risk: if it is ahead of the leader by the effect or more, it alone must not be dropped,
so that the number of points calls for no correction; else the leader, which is kept, is within the
effect of it.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.running.figures import DroppedPoint
from assay.eval.statistics.betting import bound_means, find_wealth
from assay.eval.statistics.estimates import SEED, Estimate
from assay.eval.studies.comparison.differences import EFFECT

RISK = 0.05
FEWEST = 10  # queries of the first look
FIRST = 20  # the first look takes one query in so many
PACE = 1.5  # from look to look
LEADERS = 5

# Given places of points and a number of queries, their scores on the first so many, by place;
# without those of points that cannot be scored.
Ask = Callable[[Sequence[int], int], Mapping[int, NDArray[np.float64]]]


@dataclass(frozen=True, slots=True)
class RaceRules:
    """The rules: with a chance of at most `risk`, over the order that `seed` draws, no point is
    kept whose mean is within `effect` of the best.
    """

    risk: float = RISK
    effect: float = EFFECT
    seed: int = SEED

    def shuffle(self, queries: Iterable[str]) -> list[str]:
        """Return query ids in the order in which they are searched, whatever order they have."""
        ids = sorted(queries)
        random.Random(self.seed).shuffle(ids)
        return ids

    def describe(self, queries: int) -> str:
        """Say in a sentence what a race over so many queries promises."""
        return (
            f"With a chance of at most {self.risk:g}, over the random order of the {queries:,} "
            f"queries, none of the points kept is within {self.effect:g} of the best of all."
        )


@dataclass(frozen=True)
class Race:
    """What became of a race of `points` over `queries`; places are those of the points.

    `leader` is None where nothing was raced, because there are too few queries or points.
    `searches` counts every search of a query by a point, those of the points kept on all queries
    included.
    """

    points: int
    queries: int
    searches: int
    leader: int | None = None
    drops: Mapping[int, DroppedPoint] = field(default_factory=dict)

    @property
    def saved(self) -> float:
        """The share of the searches of all points on all queries that was spared."""
        return 1 - self.searches / (self.points * self.queries)

    def as_json(self) -> dict[str, Any]:
        """Return what became of it, but for the drops."""
        told = {key: value for key, value in asdict(self).items() if key not in ("drops", "leader")}
        return {**told, "dropped": len(self.drops), "saved": self.saved}


def list_looks(queries: int) -> list[int]:
    """Return the numbers of queries at which a race looks; at most half of all.

    >>> list_looks(300)
    [15, 23, 35, 53, 80, 120]
    """
    looks = [max(FEWEST, math.ceil(queries / FIRST))]
    while (further := math.ceil(looks[-1] * PACE)) <= queries / 2:
        looks.append(further)
    return looks if len(looks) > 1 else []


def run_race(points: int, queries: int, largest: float, rules: RaceRules, ask: Ask) -> Race:
    """Race `points`, whose scores differ by at most `largest` on a query.

    What cannot be scored is kept. The points kept are to be scored on all queries afterwards.
    """
    looks = list_looks(queries)
    racing = list(range(points))
    scores = ask(racing, looks[0]) if looks and points > 1 else {}
    if not scores:
        return Race(points, queries, points * queries)
    searches = len(scores) * looks[0]
    leaders = sorted(scores, key=lambda i: -float(scores[i].mean()))
    whole = ask(leaders[: min(LEADERS, math.ceil(points / 2))], queries)
    leader = max(whole, key=lambda i: float(whole[i].mean()), default=None)
    if leader is None:
        return Race(points, queries, searches + points * queries)
    drops: dict[int, DroppedPoint] = {}
    racing = [i for i in scores if i not in whole]
    for before, seen in pairwise(looks):
        scores = ask(racing, seen) if racing else {}
        searches += len(scores) * (seen - before)
        racing = list(scores)
        if not racing:
            break
        table = np.array([scores[i] - whole[leader][:seen] for i in racing])
        wealth = find_wealth(table, rules.effect, queries, largest, looks[0])
        out = wealth >= -math.log(rules.risk)
        lost = [i for i, left in zip(racing, out, strict=True) if left]
        racing = [i for i in racing if i not in lost]
        found = _estimate(table[out], queries, largest, rules.risk, looks[0])
        drops |= {i: DroppedPoint(seen, item) for i, item in zip(lost, found, strict=True)}
    kept = points - len(drops)
    return Race(points, queries, searches + kept * queries, leader, drops)


def _estimate(
    drawn: NDArray[np.float64], size: int, largest: float, risk: float, start: int
) -> list[Estimate]:
    low, high = (sign * bound_means(sign * drawn, size, largest, risk, start) for sign in (-1, 1))
    ends = zip(drawn.mean(axis=1).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*three, drawn.shape[1]) for three in ends]
