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
    totals = np.maximum(known + np.arange(len(case.places) + 1), 1)

    def precisions(places: Sequence[int]) -> Any:
        filled = _fill(case, places, 1)[:, : case.cutoff]
        ranks = np.arange(1, filled.shape[1] + 1)
        return (np.cumsum(filled, axis=1) / ranks * filled).sum(axis=1) / totals

    return (
        case.raise_last(int(np.argmin(precisions(case.places[::-1])))),
        case.raise_first(int(np.argmax(precisions(case.places)))),
    )


def _choose_for_ndcg(case: _Case) -> tuple[Grades, Grades]:
    """Return the grades with which nDCG is lowest and highest.

    With gains that are the grades, DCG and its ideal are sums over the levels 1 to `top` of those
    of the items that reach the level, each with gain 1. Of so many hits raised to a level the
    first ranks serve best and the last worst, and what is raised to a level is raised to those
    below it. The numbers, one a level, are those that maximise DCG - ratio * ideal (for the lowest
    minimise it), with a ratio that moves until it moves no more (Dinkelbach, "On nonlinear
    fractional programming", Management Science 1967).
    """
    levels = range(1, case.top + 1)
    size = len(case.hits) + len(case.gold) + len(case.places)
    discounts = 1 / np.log2(np.arange(2, size + 2))
    discounts[case.cutoff or size :] = 0
    sums = np.concatenate([[0.0], np.cumsum(discounts)])
    raised = np.arange(len(case.places) + 1)
    ideals = np.array(
        [sums[sum(item.grade >= level for item in case.gold) + raised] for level in levels]
    )

    def choose(places: Sequence[int], sign: int) -> dict[int, int]:
        """Return the grades of the unjudged hits, which are raised in the order of `places`."""
        filled = [_fill(case, places, level) for level in levels]
        gains = np.array([rows @ discounts[: rows.shape[1]] for rows in filled])
        counts = [0] * case.top
        while True:
            ratio = _divide(gains, ideals, counts)
            found = _descend(sign * (gains - ratio * ideals))
            if sign * (_divide(gains, ideals, found) - ratio) <= 1e-12:
                return {at: sum(count > n for count in counts) for n, at in enumerate(places)}
            counts = found

    return choose(case.places[::-1], -1), choose(case.places, 1)


def _fill(case: _Case, places: Sequence[int], level: int) -> Any:
    """Return which places gold items take that reach `level`, as `fill_places` has it.

    A row for each number of unjudged hits raised to it in the order of `places`, from none to all;
    a column a place.
    """
    coming = [sum(item.grade >= level for item in hit.found) for hit in case.hits]
    more = len(places) + sum(coming)
    arriving = np.tile([*coming, *[0] * more], (len(places) + 1, 1))
    for number, at in enumerate(places):
        arriving[number + 1 :, at] += 1
    waiting = np.zeros(len(arriving), dtype=int)
    filled = np.zeros(arriving.shape, dtype=bool)
    for place in range(arriving.shape[1]):
        waiting += arriving[:, place]
        filled[:, place] = waiting > 0
        waiting -= filled[:, place]
    return filled


def _divide(gains: Any, ideals: Any, counts: Sequence[int]) -> float:
    """Return the nDCG with `counts` of the hits raised, one a level; 0 with nothing relevant."""
    levels = range(len(counts))
    ideal = float(ideals[levels, counts].sum())
    return float(gains[levels, counts].sum()) / ideal if ideal else 0.0


def _descend(values: Any) -> list[int]:
    """Return the column of each row that make the sum of `values` highest, none right of the one
    in the row before.
    """
    best = np.zeros(values.shape[1])
    chosen = []
    for row in values[::-1]:
        # The best column up to each for the rows below, which were gone through before.
        records = best == np.maximum.accumulate(best)
        to = np.maximum.accumulate(np.where(records, np.arange(len(best)), 0))
        chosen.append(to)
        best = row + best[to]
    column, columns = int(np.argmax(best)), []
    for to in reversed(chosen):
        columns.append(column)
        column = int(to[column])
    return columns


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
