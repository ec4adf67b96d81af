"""Bounds on the difference in nDCG between two runs, over all judgments of unjudged hits.

The mean difference depends on grades that nobody has given yet. Its bounds are the least and the
greatest value for any such grades: a pair moves it by the difference of its discounts in the two
rankings, and by what it adds to the ideal order (Carterette, Allan, Sitaraman, "Minimal test
collections for retrieval evaluation", SIGIR 2006, does so for average precision). Each pair counts
as one passage of its own. What neither run returned is taken to be as it is judged: more of it that
is relevant would bring the difference of a query nearer to 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import GoldItem
from assay.eval.report.formats import count, signed
from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.labels import label_runs
from assay.eval.runs.summary.open_pairs import OpenPair, discount
from assay.eval.statistics.significance import TIE

NAMED = 3  # pairs of runs in a sentence

Floats = NDArray[np.float64]
Scores = Mapping[str, float]


@in_json(..., "could_turn")
@dataclass(frozen=True, slots=True)
class DifferenceBounds:
    """The mean difference of `other` less `base`, with its bounds over all possible judgments.

    The bounds are the lowest and the highest value that judging the unjudged hits could give.
    """

    base: str
    other: str
    difference: float
    low: float
    high: float

    @property
    def could_turn(self) -> bool:
        """True if the other run could turn out to be the better one."""
        return self.low < -TIE and self.high > TIE


class Ideals:
    """The ideal DCG of queries, by the number of known texts of each grade, at a cutoff.

    `top` is the highest grade that is given.
    """

    def __init__(self, gold: Mapping[str, Sequence[GoldItem]], cutoff: int) -> None:
        self._gold = gold
        given = {item.grade for items in gold.values() for item in items if item.grade > 0}
        self._levels = sorted(given or {1})
        self.top = self._levels[-1]
        self.steps = np.diff(np.array(self._levels, dtype=float), prepend=0.0)
        self._discounts = np.array([discount(rank) for rank in range(1, cutoff + 1)])

    def find(self, query: str, more: int = 0) -> Floats:
        """Return the ideal DCG at grade 1 for each level, the grades that are given, rising.

        A level counts the texts of a query that have at least its grade, alone and with 1 to `more`
        others. The shape is (levels, more + 1).
        """
        grades = [item.grade for item in self._gold[query]]
        known = [sum(grade >= level for grade in grades) for level in self._levels]
        longest = max(known) + more
        padding = np.zeros(max(0, longest - len(self._discounts)))
        reached = np.concatenate([[0.0], np.cumsum(np.concatenate([self._discounts, padding]))])
        found: Floats = reached[np.add.outer(known, np.arange(more + 1))]
        return found


def bound_differences(
    runs: Sequence[StoredRun],
    scores: Sequence[Scores],
    found: Sequence[OpenPair],
    cutoff: int,
    *,
    all_pairs: bool = True,
) -> list[DifferenceBounds]:
    """Return the bounds of each two of the runs, or of each with the first, by nDCG at the cutoff.

    `scores` are the runs' by query, and `found` the pairs that are open to the cutoff.
    """
    ideals = Ideals(runs[0].gold, cutoff)
    open_: dict[str, list[tuple[int, ...]]] = {}
    for one in found:
        open_.setdefault(one.pair.query_id, []).append(one.ranks)
    bounds = []
    labels = label_runs(runs)
    for base, other in combinations(range(len(runs)), 2):
        if base and not all_pairs:
            break
        changes = {query: scores[other][query] - was for query, was in scores[base].items()}
        ends = []
        for query, change in changes.items():
            weights = [
                discount(ranks[other]) - discount(ranks[base])
                for ranks in open_.get(query, ())
                if ranks[other] or ranks[base]
            ]
            ends.append(
                _bound(change, np.array(weights), ideals, query) if weights else (change,) * 2
            )
        low, high = np.mean(ends, axis=0).tolist()
        difference = float(np.mean([*changes.values()]))
        bounds.append(DifferenceBounds(labels[base], labels[other], difference, low, high))
    return bounds


def describe_bounds(measure: str, bounds: Sequence[DifferenceBounds]) -> str:
    """Return a sentence on whether judging could change which run is better.

    It is "" if nothing is open. With several pairs of runs, those that could turn are named, three
    at most.
    """
    open_ = [one for one in bounds if one.high - one.low > TIE]
    turning = [one for one in open_ if one.could_turn]
    if not open_:
        return ""
    can = "could" if turning else "cannot"
    told = f"Judging the unjudged hits {can} turn which run is better by {measure}"
    if len(bounds) == 1:
        (one,) = open_
        return (
            f"{told}: {one.other} less {one.base} is {signed(one.difference)}, and from "
            f"{signed(one.low)} to {signed(one.high)} whatever of them is relevant"
        )
    if not turning:
        return f"{told}, in any pair"
    named = "; ".join(
        f"{one.other} less {one.base} from {signed(one.low)} to {signed(one.high)}"
        for one in turning[:NAMED]
    )
    more = f"; and {count(len(turning) - NAMED, 'more pair')}" if len(turning) > NAMED else ""
    return f"{told} in {len(turning)} of {len(bounds)} pairs: {named}{more}"


def _bound(change: float, weights: Floats, ideals: Ideals, query: str) -> tuple[float, float]:
    """Return the lowest and the highest difference that the open pairs of a query can cause.

    `weights` are the gains of the other run's DCG over the base's if a pair has grade 1.
    """
    reached = ideals.find(query, len(weights))
    gain = change * float(ideals.steps @ reached[:, 0])
    return (
        -_raise(-gain, -weights, reached, ideals.steps),
        _raise(gain, weights, reached, ideals.steps),
    )


def _raise(gain: float, weights: Floats, ideals: Floats, steps: Floats) -> float:
    """Return the highest quotient of DCG difference and ideal that open pairs can cause.

    On each level of grades the pairs of the greatest weights are raised, in the best number; the
    levels are treated separately, which can only make the bound wider. The quotient is found by
    Dinkelbach's method (Management Science 1967), as in `assay.eval.scoring.bounds`.
    """
    reached = np.concatenate([[0.0], np.cumsum(np.sort(weights)[::-1])])
    start = float(steps @ ideals[:, 0])
    ratio = gain / start if start else 0.0
    while True:
        best = np.argmax(reached - ratio * ideals, axis=1)
        below = float(steps @ ideals[np.arange(len(ideals)), best])
        moved = (gain + float(steps @ reached[best])) / below if below else 0.0
        if moved <= ratio + TIE:
            return ratio
        ratio = moved
