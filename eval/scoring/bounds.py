"""The lowest and the highest score that judging a ranking's unjudged hits could give.

A judgment is a grade from 0 to the highest of the gold. Each unjudged hit above the measure's
cutoff counts as one passage of its own, and one that is relevant enters the ideal order and the
number of relevant passages too, so no bound exceeds 1.

* One more relevant hit never lowers Success, RR, P and R (which counts it among the found and
  among all). The lower bound is the score itself, every unjudged hit not relevant; the upper has
  every one relevant with the highest grade.
* nDCG and AP can fall when a hit proves relevant, since then there was more to find: a ranking
  whose first hit is the only relevant one scores 1, and less once its tenth proves relevant too.
  The lower bound has the least favourable grades and may lie below the score, the upper the most
  favourable.

Relevant passages that were neither judged nor returned above the cutoff would lower R, nDCG and
AP by what no run can tell; bounds leave them out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eval.collections.collection import GoldItem
from eval.scoring import measures
from eval.scoring.calculation import ByQuery, Gold, Joined, count_fitting
from eval.scoring.join import JoinedHit
from eval.scoring.measures import Measure

# The grades that unjudged hits are given, by their place (from 0) in the ranking.
Grades = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Case:
    """One query: its ranking and gold, the places of the unjudged hits above the measure's
    cutoff, the highest grade, and the cutoff in ranks, that of the ideal order too.
    """

    hits: Sequence[JoinedHit]
    gold: Sequence[GoldItem]
    places: Sequence[int]
    top: int
    cutoff: int | None

    def raise_first(self, number: int) -> Grades:
        """Give the first unjudged hits the highest grade."""
        return dict.fromkeys(self.places[:number], self.top)

    def raise_last(self, number: int) -> Grades:
        """Give the last unjudged hits the highest grade."""
        return dict.fromkeys(self.places[len(self.places) - number :], self.top)


def bound(name: str, joined: Joined, gold: Gold) -> tuple[ByQuery, ByQuery] | None:
    """Return the lower and the upper bound of a measure, {query id: score} each.

    None for one of which no way to find them is known.
    """
    measure = measures.find(name)
    if not measure.bounds:
        return None
    cases = _list_cases(measure, joined, gold)
    ways = {"rising": _choose_all, "AP": _choose_for_ap, "nDCG": _choose_for_ndcg}
    choose = ways[measure.bounds]
    chosen = {query: choose(case) for query, case in cases.items()}
    lowest, highest = (
        _score(name, cases, {query: grades[side] for query, grades in chosen.items()})
        for side in (0, 1)
    )
    return lowest, highest


def count_above(measure: Measure, joined: Joined) -> dict[str, int]:
    """Return how many of the first hits of each query the measure looks at."""
    if measure.budget:
        return {query: count_fitting(hits, measure.budget) for query, hits in joined.items()}
    return {query: measure.cutoff or len(hits) for query, hits in joined.items()}


def _list_cases(measure: Measure, joined: Joined, gold: Gold) -> dict[str, _Case]:
    top = max([1, *(item.grade for items in gold.values() for item in items)])
    above = count_above(measure, joined)
    return {
        query: _Case(
            hits=joined[query],
            gold=items,
            places=[at for at, hit in enumerate(joined[query][: above[query]]) if not hit.judged],
            top=top,
            cutoff=measure.cutoff,
        )
        for query, items in gold.items()
    }


def _choose_all(case: _Case) -> tuple[Grades, Grades]:
    """Return the extreme grades for a measure that more relevance never lowers."""
    return {}, case.raise_first(len(case.places))


def _choose_for_ap(case: _Case) -> tuple[Grades, Grades]:
    """Return the grades with which AP is lowest and highest.

    Of so many relevant hits the last ranks serve AP worst and the first best, so all numbers of
    them are tried.
    """
    known = sum(item.grade > 0 for item in case.gold)
    relevant = np.array([hit.grade > 0 for hit in case.hits], dtype=bool)

    def precision(grades: Grades) -> float:
        now = relevant.copy()
        now[list(grades)] = True
        precisions = np.cumsum(now) / np.arange(1, len(now) + 1)
        return float(sum((precisions * now)[: case.cutoff])) / max(known + len(grades), 1)

    numbers = range(len(case.places) + 1)
    return (
        min(map(case.raise_last, numbers), key=precision),
        max(map(case.raise_first, numbers), key=precision),
    )


def _choose_for_ndcg(case: _Case) -> tuple[Grades, Grades]:
    """Return the grades with which nDCG is lowest and highest.

    With gains that are the grades, DCG and its ideal are sums over the levels 1 to `top` of those
    of the items that reach the level, each with gain 1. Of so many hits raised to a level the
    first ranks serve best and the last worst.

    DCG is linear in the grades and its ideal convex: their ratio is lowest where every grade is 0
    or the highest, so all numbers are tried. It is highest for the numbers, a level each, that
    maximise DCG - ratio * ideal, with a ratio raised until it rises no more (Dinkelbach, "On
    nonlinear fractional programming", Management Science 1967).
    """
    size = max(len(case.hits), len(case.gold) + len(case.places)) + 1
    discounts = 1 / np.log2(np.arange(2, size + 2))
    ideals = _sums(discounts)
    open_ = discounts[list(case.places)]
    first, last = _sums(open_), _sums(open_[::-1])
    levels = range(1, case.top + 1)
    found = float(sum(discounts[at] * hit.grade for at, hit in enumerate(case.hits[: case.cutoff])))
    raised = np.arange(len(first))
    ideal_by_level = [
        ideals[
            np.minimum(sum(item.grade >= level for item in case.gold) + raised, case.cutoff or size)
        ]
        for level in levels
    ]
    worst = (found + case.top * last) / np.maximum(sum(ideal_by_level), discounts[-1])
    ratio, best = -1.0, [0] * case.top
    while True:
        counts = [int(np.argmax(first - ratio * ideal)) for ideal in ideal_by_level]
        pairs = list(zip(ideal_by_level, counts, strict=True))
        ideal = float(sum(ideal[count] for ideal, count in pairs))
        dcg = found + float(sum(first[count] for count in counts))
        if not ideal or dcg / ideal <= ratio + 1e-12:
            break
        ratio, best = dcg / ideal, counts
    return (
        case.raise_last(int(np.argmin(worst))),
        {at: sum(count > number for count in best) for number, at in enumerate(case.places)},
    )


def _sums(values: Any) -> Any:
    """Return the sums of the first 0, 1, 2, … values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _score(name: str, cases: Mapping[str, _Case], grades: Mapping[str, Grades]) -> ByQuery:
    """Return the scores with the unjudged hits given `grades`."""
    joined, gold = {}, {}
    for query, case in cases.items():
        hits, items = list(case.hits), list(case.gold)
        for at, grade in grades[query].items():
            if grade:
                chunk = hits[at].chunk
                item = GoldItem(query, chunk.id, chunk.doc_id, chunk.start, chunk.end, grade)
                hits[at] = replace(hits[at], found=(item,), judged=True)
                items.append(item)
        joined[query], gold[query] = hits, items
    return measures.score([name], joined, gold)[name]
