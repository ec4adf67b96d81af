"""The lowest and the highest score that judging a ranking's unjudged hits could give.

A judgment is a grade from 0 to the highest of the gold. Each unjudged hit above the measure's
cutoff counts as one passage of its own, and one that is relevant enters the ideal order and the
number of relevant passages too, so no bound exceeds 1.

* One more relevant hit never lowers Hit, MRR, P and Recall (which counts it among the found and
  among all). The lower bound is the score itself, every unjudged hit not relevant; the upper has
  every one relevant with the highest grade.
* nDCG and AP can fall when a hit proves relevant, since then there was more to find: a ranking
  whose first hit is the only relevant one scores 1, and less once its tenth proves relevant too.
  The lower bound has the least favourable grades and may lie below the score, the upper the most
  favourable.

Relevant passages that were neither judged nor returned above the cutoff would lower Recall, nDCG
and AP by what no run can tell; bounds leave them out.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.scoring import measures
from assay.eval.scoring.calculation import ByQuery
from assay.eval.scoring.grid import Bools, Counts, Floats, Grid, Levels, add_up, divide, fill
from assay.eval.scoring.measure import Measure

# Numbers that an array of all ways to raise the unjudged hits of some queries may hold.
AT_ONCE = 4_000_000


def bound(name: str, grid: Grid) -> tuple[ByQuery, ByQuery] | None:
    """Return the lower and the upper bound of a measure, {query id: score} each.

    It is None for a measure without a known way to compute them.
    """
    measure = measures.find(name)
    if not measure.bounds:
        return None
    unjudged = grid.unjudged & grid.mark(grid.limit(measure.cutoff, measure.budget))
    if measure.bounds == "rising":
        sides = [measure.score_columns(grid), measure.score_columns(grid.add_relevant(unjudged))]
    else:
        find = _bound_ap if measure.bounds == "AP" else _bound_ndcg
        sides = [find(grid, unjudged, measure, highest) for highest in (False, True)]
    lowest, highest = (dict(zip(grid.queries, side.tolist(), strict=True)) for side in sides)
    return lowest, highest


def _bound_ap(grid: Grid, unjudged: Bools, measure: Measure, highest: bool) -> Floats:
    """Bound AP.

    A given number of relevant hits gives the lowest AP at the last ranks and the highest at the
    first, so all numbers are tried.
    """

    def find(part: Levels, raised: Bools, allowed: Bools, width: int) -> Floats:
        filled = fill(part.coming[0][:, None] + raised, width)
        precisions = np.cumsum(filled, axis=2) / np.arange(1, width + 1) * filled
        totals = part.relevant[0][:, None] + np.arange(raised.shape[1])
        scores = divide(add_up(precisions), totals)
        if highest:
            return np.asarray(np.max(scores, axis=1, where=allowed, initial=0))
        return np.asarray(np.min(scores, axis=1, where=allowed, initial=1))

    return _try_numbers(grid, unjudged, measure, highest, find)


def _bound_ndcg(grid: Grid, unjudged: Bools, measure: Measure, highest: bool) -> Floats:
    """Bound nDCG.

    The gains are the grades. So DCG and its ideal are sums over the levels, which are the grades
    that are given: each adds the DCG of the items that reach the level, with the step to the level
    as gain. No grade between two levels would give a better bound than both. A given number of hits
    raised to a level gives the most at the first ranks and the least at the last, and a hit raised
    to a level is raised to those below it. The numbers, one per level, are those that maximise
    DCG - ratio * ideal (minimise it for the lowest), with a ratio that is updated until it does not
    change (Dinkelbach, "On nonlinear fractional programming", Management Science 1967).
    """
    sign = 1 if highest else -1

    def find(part: Levels, raised: Bools, allowed: Bools, width: int) -> Floats:
        logarithms = np.array([math.log2(place + 2) for place in range(width)])
        reached = np.concatenate([[0.0], np.cumsum(1 / logarithms)])
        filled = np.stack([fill(level[:, None] + raised, width) for level in part.coming])
        gains = filled @ (1 / logarithms)
        totals = part.relevant[:, :, None] + np.arange(raised.shape[1])
        ideals = reached[np.minimum(totals, width)]

        def add_levels(values: NDArray[Any]) -> NDArray[Any]:
            return np.tensordot(part.steps, values, axes=1)

        def take(values: NDArray[Any], numbers: Counts) -> NDArray[Any]:
            """Return `values` with `numbers` of the hits raised, levels summed up."""
            index = numbers.reshape(*numbers.shape, *[1] * (values.ndim - 2))
            return add_levels(np.take_along_axis(values, index, axis=2)[:, :, 0])

        numbers = np.zeros(part.relevant.shape, dtype=np.int64)
        while True:
            ratios = divide(take(gains, numbers), take(ideals, numbers))
            values = sign * (gains - ratios[:, None] * ideals) * part.steps[:, None, None]
            moved = _descend(np.where(allowed, values, -np.inf))
            change = sign * (divide(take(gains, moved), take(ideals, moved)) - ratios)
            if not np.any(change > 1e-12):
                break
            numbers = np.where(change > 1e-12, moved, numbers)
        # In the order in which trec_eval adds, so that what is judged throughout equals its score.
        ideal = np.arange(width) < (part.relevant + numbers)[:, :, None]
        return divide(
            add_up(take(filled, numbers) / logarithms), add_up(add_levels(ideal) / logarithms)
        )

    return _try_numbers(grid, unjudged, measure, highest, find)


def _try_numbers(
    grid: Grid,
    unjudged: Bools,
    measure: Measure,
    first: bool,
    find: Callable[[Levels, Bools, Bools, int], Floats],
) -> Floats:
    """Return the results of `find` for every query, called with some queries at a time.

    Its arguments are the items of the queries by level; a mask of the hits that are raised for each
    number of raised hits, the `first` or the last ones, of shape (queries, numbers, hits); a mask
    of the numbers that exist, of shape (queries, numbers); and the number of places that count.
    """
    most = int(np.count_nonzero(unjudged, axis=1).max(initial=0))
    places = _count_places(grid, unjudged)
    width = min(measure.cutoff or places, places)
    size = max(1, AT_ONCE // (len(grid.levels.coming) * (most + 1) * max(width, unjudged.shape[1])))
    found = []
    for number, part in enumerate(grid.levels.split(size)):
        open_ = unjudged[number * size : (number + 1) * size]
        count = np.count_nonzero(open_, axis=1)[:, None]
        order = np.cumsum(open_, axis=1)
        order = order if first else count - order + 1
        numbers = np.arange(most + 1)
        raised = open_[:, None] & (order[:, None] <= numbers[:, None])
        found.append(find(part, raised, numbers <= count, width))
    return np.concatenate(found)


def _count_places(grid: Grid, unjudged: Bools) -> int:
    """Return the largest possible number of places (see `assay.eval.scoring.join.fill_places`).

    It is not less than the length of an ideal order.
    """
    more = np.count_nonzero(unjudged, axis=1) + grid.relevant
    return int(max(1, unjudged.shape[1] + more.max(initial=0)))


def _descend(values: Floats) -> Counts:
    """Return the numbers, of shape (levels, queries), that make the sum of `values` highest.

    `values` is of shape (levels, queries, numbers). No level has a larger number than the one
    before.
    """
    best: Floats = np.zeros(values.shape[1:])
    chosen = []
    for row in values[::-1]:
        # The best number up to each for the levels above, which were gone through before.
        records = best == np.maximum.accumulate(best, axis=1)
        to = np.maximum.accumulate(np.where(records, np.arange(best.shape[1]), 0), axis=1)
        chosen.append(to)
        best = row + np.take_along_axis(best, to, axis=1)
    number, numbers = np.argmax(best, axis=1), []
    for to in reversed(chosen):
        numbers.append(number)
        number = np.take_along_axis(to, number[:, None], axis=1)[:, 0]
    return np.array(numbers)
