"""Ceilings: the scores of a perfect order of the candidates after each step of a pipeline."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.candidate_lists import KINDS, LEG, Step, Trail
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_means
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Gold
from assay.eval.scoring.join import JoinedHit
from assay.eval.statistics.estimates import Estimate

UNION = "all legs"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The scores of a perfect order of the candidates after a step.

    `candidates` is their mean number a query. "all legs" is the union of the legs: its scores are
    those that a perfect fusion could reach.
    """

    step: str
    candidates: float
    measures: Mapping[str, Estimate]


class CeilingFinder:
    """A finder of the ceilings of all steps, from the trails of a run's queries in turn.

    A ceiling is the mean of nDCG@k, Recall@k and Hit@1 over candidates in greedy order: for nDCG
    and Hit the best grade first, for recall the most items first. No order has a higher nDCG or
    Hit; recall may fall short of the best where chunks cover several items.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._queries = 0
        self._kinds: dict[str, str] = {}
        self._candidates: Counter[str] = Counter()
        self._graded: dict[str, dict[str, list[JoinedHit]]] = {}
        self._broad: dict[str, dict[str, list[JoinedHit]]] = {}

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of all steps, legs first; not every query need have passed each."""
        return tuple(sorted(self._kinds, key=lambda name: KINDS.index(self._kinds[name])))

    def add(self, trail: Trail) -> None:
        """Take in the candidates of a query."""
        self._queries += 1
        self._kinds |= {step.name: step.kind for step in trail.steps}
        for step in (_unite(trail), *trail.steps):
            self._candidates[step.name] += len(step.numbers)
            relevant = _relevant(trail, step.ranks)
            for lists_, by_grade in ((self._graded, True), (self._broad, False)):
                ordered = _order(trail, relevant, self._k, by_grade)
                lists_.setdefault(step.name, {})[trail.query] = ordered

    def find(self, gold: Gold, claims: Claims) -> tuple[Ceiling, ...]:
        """Return the ceilings of the steps, and of the union of several legs after the last."""
        legs = [name for name in self.steps if self._kinds[name] == LEG]
        union = [UNION] if len(legs) > 1 else []
        return tuple(
            self._find(name, gold, claims) for name in (*legs, *union, *self.steps[len(legs) :])
        )

    def _find(self, name: str, gold: Gold, claims: Claims) -> Ceiling:
        k = self._k
        graded, broad = (
            {query: lists[name].get(query, []) for query in gold}
            for lists in (self._graded, self._broad)
        )
        scores = measures.score([f"nDCG@{k}", "Hit@1"], graded, gold)
        scores |= measures.score([f"Recall@{k}"], broad, gold)
        return Ceiling(
            step=name,
            candidates=self._candidates[name] / self._queries,
            measures=estimate_means({name: scores[name] for name in name_measures(k)}, claims),
        )


def measure_reached(
    run: StoredRun, k: int, known: Mapping[str, Mapping[str, float]]
) -> dict[str, Estimate]:
    """Return the run's own scores in the measures of a ceiling; some may be `known`."""
    names = name_measures(k)
    missing = [name for name in names if name not in known]
    scores = {**known, **measures.score(missing, run.joined, run.gold)}
    return estimate_means({name: scores[name] for name in names}, Claims.of(run))


def name_measures(k: int) -> tuple[str, ...]:
    """Return the measures of a ceiling at a cutoff."""
    return f"nDCG@{k}", f"Recall@{k}", "Hit@1"


def _unite(trail: Trail) -> Step:
    legs = [step for step in trail.steps if step.kind == LEG]
    numbers = list(set().union(*(step.numbers for step in legs)))
    ranks = {number: rank for step in legs for number, rank in step.ranks.items()}
    return Step(UNION, LEG, numbers, ranks)


def _relevant(trail: Trail, ranks: Mapping[int, int]) -> dict[int, list[GoldItem]]:
    """Return {chunk: items it covers} for the chunks with `ranks`, best first."""
    found: dict[int, list[GoldItem]] = {}
    for item in trail.items:
        for number in trail.covering[item.id] & ranks.keys():
            found.setdefault(number, []).append(item)
    ordered = sorted(found, key=lambda number: (ranks[number], trail.chunks[number].id))
    return {number: found[number] for number in ordered}


def _order(
    trail: Trail, relevant: Mapping[int, list[GoldItem]], k: int, by_grade: bool
) -> list[JoinedHit]:
    """Return at most `k` chunks; each is the one that adds most to those taken before."""
    items = [item for covered in relevant.values() for item in covered]
    if len({item.id for item in items}) == len(items) == len(relevant):
        # As nearly always each covers one item that no other covers, and none loses its worth.
        best = sorted(relevant, key=lambda chunk: -relevant[chunk][0].grade)[:k]
        return [JoinedHit(trail.chunks[i], tuple(relevant[i]), judged=True) for i in best]
    left = {chunk: sorted(items, key=lambda item: -item.grade) for chunk, items in relevant.items()}
    hits: list[JoinedHit] = []
    while left and len(hits) < k:
        first = max(
            left,
            key=lambda chunk: (0 if by_grade else len(left[chunk]), left[chunk][0].grade),
        )
        taken = left.pop(first)
        hits.append(JoinedHit(trail.chunks[first], tuple(taken), judged=True))
        fresh = {
            chunk: [item for item in items if item not in taken] for chunk, items in left.items()
        }
        left = {chunk: items for chunk, items in fresh.items() if items}
    return hits
