"""Which unjudged pairs decide a comparison of two runs by nDCG, and whether it is decided.

A judgment matters by how far it can move the mean difference: by the difference of the pair's
discounts in the two rankings, and by what it adds to the ideal order. Three things follow from the
grades so far (Carterette, Allan, Sitaraman, "Minimal test collections for retrieval evaluation",
SIGIR 2006, does so for average precision):

* Bounds: what the mean difference can come to, whatever grades the open pairs are given.
* The order: by the chance that a pair proves relevant times what it would then change.
* The foretold verdict: the open pairs are given grades by chance, many times, by the chances of
  being relevant that judged pairs alike leave likely; the share of times that each verdict comes
  out says how likely it is to stand.

Each pair counts as one passage of its own.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED, TAIL
from assay.eval.statistics.significance import ALPHA, TIE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OPEN = -1  # the grade of a pair that nobody has judged
DRAWS = 400
CONFIDENCE = 0.95
# Ranks, by the better of the two, whose pairs are taken to be relevant equally often.
STRATA = (1, 2, 3, 5, 10)
SIDES = 3  # higher in the base, at the same rank in both, higher in the other
GROUPS = 2 * SIDES * len(STRATA)
PRIOR = 2.0  # judgments that what is believed before any counts for
VERDICTS = ("worse", "no difference shown", "better")


@dataclass(frozen=True)
class RunPair:
    """Two runs, and the pairs in the first `cutoff` hits of either, of shape (pairs,), by query.

    `query` numbers the query of a pair, `weight` is its discount in the other run minus that in the
    base, `rank` the better of its ranks. By query, `gap` is the DCG of the other minus that of the
    base by what was judged before, and `relevant`, of shape (levels, queries), how many texts of at
    least each of `levels`, the grades that are given, rising, were found before. `before`, of shape
    (2, groups), is how many hits were judged, and proved relevant, before, by `find_group`.
    """

    cutoff: int
    query: Ints
    weight: Floats
    rank: Ints
    gap: Floats
    relevant: Ints
    levels: Ints
    before: Ints = field(default_factory=lambda: np.zeros((2, GROUPS), dtype=np.int64))

    @cached_property
    def ideal(self) -> Floats:
        """The DCG of so many texts of grade 1, from none on."""
        most = int(self.relevant.max(initial=0)) + len(self.query) + 1
        discounts = [1 / math.log2(i + 2) if i < self.cutoff else 0.0 for i in range(most)]
        reached: Floats = np.concatenate([[0.0], np.cumsum(discounts)])
        return reached

    @cached_property
    def steps(self) -> Ints:
        """How far each grade is above the one before."""
        return np.diff(self.levels, prepend=0)

    def sum_ideals(self, totals: Ints) -> Floats:
        """Return the ideal DCG of so many texts of each level, of shape (levels, …)."""
        summed: Floats = np.tensordot(self.steps, self.ideal[totals], axes=1)
        return summed


def find_group(rank: Ints, weight: Floats, is_known: NDArray[np.bool_]) -> Ints:
    """Return the numbers of the groups of pairs that are taken to be relevant equally often: by
    their rank, by which run has them higher, and by whether another relevant text of the query is
    known. Were the two runs' pairs one group, chance alone would foretell that they are equal.
    """
    side = np.sign(np.where(np.abs(weight) > TIE, weight, 0.0)).astype(np.int64) + 1
    numbers: Ints = (np.searchsorted(STRATA[:-1], rank) * SIDES + side) * 2 + is_known
    return numbers


def score(run_pair: RunPair, grades: Ints) -> Floats:
    """Return the differences of nDCG by query, of shape (…, queries), from `grades` of the pairs,
    of shape (…, pairs). Open pairs count as not relevant.
    """
    gains, totals = _sum(run_pair, np.maximum(grades, 0))
    ideals = run_pair.sum_ideals(totals)
    quotients: Floats = np.divide(gains, ideals, out=np.zeros_like(gains), where=ideals > 0)
    return quotients


def bound(run_pair: RunPair, grades: Ints) -> tuple[float, float]:
    """Return the lowest and the highest mean difference that open pairs leave possible."""
    gains, totals = _sum(run_pair, np.maximum(grades, 0))
    ends = np.zeros((2, len(run_pair.gap)))
    open_ = grades == OPEN
    for number in range(len(run_pair.gap)):
        first, last = np.searchsorted(run_pair.query, (number, number + 1))
        weights = run_pair.weight[first:last][open_[first:last]]
        for side, sign in enumerate((-1, 1)):
            ends[side, number] = sign * _raise(
                sign * gains[number], sign * weights, totals[:, number], run_pair
            )
    low, high = ends.mean(axis=1).tolist()
    return low, high


def _raise(gain: float, weights: Floats, totals: Ints, run_pair: RunPair) -> float:
    """Return the highest quotient of DCG difference and ideal that open pairs can bring.

    On each level of grades the pairs of the greatest weights are raised, as many as serve best; the
    levels are looked at apart, which can only make the bound wider. The quotient is found by
    Dinkelbach's method (Management Science 1967), as in `assay.eval.scoring.bounds`.
    """
    reached = np.concatenate([[0.0], np.cumsum(np.sort(weights)[::-1])])
    counts = np.arange(len(reached))
    ideals = [run_pair.ideal[total + counts] for total in totals]
    steps = run_pair.steps
    start = float(steps @ [level[0] for level in ideals])
    ratio = gain / start if start else 0.0
    while True:
        best = [int(np.argmax(reached - ratio * level)) for level in ideals]
        below = float(steps @ [level[i] for level, i in zip(ideals, best, strict=True)])
        moved = (gain + float(steps @ reached[best])) / below if below else 0.0
        if moved <= ratio + TIE:
            return ratio
        ratio = moved


def believe(run_pair: RunPair, grades: Ints) -> tuple[Ints, Floats, Floats]:
    """Return the group of each pair, and for each group how many of its pairs are relevant and how
    many are not: those judged, and what is believed before any, 1 / (1 + rank) relevant of each.

    Where nothing was judged not relevant, the judged ones tell nothing of the others.
    """
    judged, found = grades >= 0, grades > 0
    known = run_pair.relevant[0].copy()
    np.add.at(known, run_pair.query[found], 1)
    group = find_group(run_pair.rank, run_pair.weight, known[run_pair.query] - found > 0)
    seen = run_pair.before[0] + np.bincount(group[judged], minlength=GROUPS)
    hits = run_pair.before[1] + np.bincount(group[found], minlength=GROUPS)
    if seen.sum() == hits.sum():
        seen, hits = np.zeros_like(seen), np.zeros_like(hits)
    prior = np.repeat(1 / (1.0 + np.array(STRATA)), 2 * SIDES)
    return group, hits + PRIOR * prior, seen - hits + PRIOR * (1 - prior)


def order(run_pair: RunPair, grades: Ints) -> Ints:
    """Return the open pairs, those first whose judgment is expected to move the difference most."""
    open_ = np.flatnonzero(grades == OPEN)
    gains, totals = _sum(run_pair, np.maximum(grades, 0))
    ideals = run_pair.sum_ideals(totals)
    query = run_pair.query[open_]
    raised = run_pair.sum_ideals(totals[:, query] + 1)
    now = np.divide(gains, ideals, out=np.zeros_like(gains), where=ideals > 0)
    then = (gains[query] + run_pair.levels[-1] * run_pair.weight[open_]) / raised
    group, relevant, others = believe(run_pair, grades)
    chance = (relevant / (relevant + others))[group[open_]]
    effect = chance * np.abs(then - now[query])
    return open_[np.lexsort((run_pair.rank[open_], -np.round(effect, 9)))]


def foretell(run_pair: RunPair, grades: Ints) -> Counter[str]:
    """Return how often each verdict comes out of 400 ways to grade the open pairs, by chance.

    A verdict is that of a two-sided t-test at .05, which stands in for the randomisation test for
    its speed. The chance of a group's pairs is drawn anew each time, from the Beta distribution of
    what `believe` counts: few judgments leave much open. A pair that proves relevant has one of the
    grades given before, each counted once more. The same call gives the same figures.
    """
    rng = np.random.default_rng(SEED)
    open_ = np.flatnonzero(grades == OPEN)
    given = np.count_nonzero(grades == run_pair.levels[:, None], axis=1) + 1.0
    drawn = np.broadcast_to(grades, (DRAWS, len(grades))).copy()
    group, hits, others = believe(run_pair, grades)
    chances = rng.beta(hits, others, (DRAWS, GROUPS))[:, group[open_]]
    relevant = rng.random(chances.shape) < chances
    kinds = np.zeros(chances.shape, dtype=np.int64)
    kinds[relevant] = rng.choice(run_pair.levels, size=relevant.sum(), p=given / given.sum())
    drawn[:, open_] = kinds
    return Counter(_judge(score(run_pair, drawn)))


def _judge(differences: Floats) -> list[str]:
    """Return the verdict of each row of differences, of shape (draws, queries)."""
    from scipy.special import stdtrit

    n = differences.shape[1]
    moved = np.count_nonzero(np.abs(differences) > TIE, axis=1)
    means = differences.mean(axis=1)
    errors = differences.std(axis=1, ddof=1) / math.sqrt(n) if n > 1 else np.zeros_like(means)
    limit = float(stdtrit(max(n - 1, 1), 1 - TAIL))
    shown = (np.abs(means) > limit * errors) & (np.abs(means) > TIE)
    shown &= 2.0 ** (1 - moved) <= ALPHA  # fewer can give no such p-value
    return [VERDICTS[i] for i in (1 + np.sign(means) * shown).astype(int).tolist()]


def _sum(run_pair: RunPair, grades: Ints) -> tuple[Floats, Ints]:
    """Return by query the DCG of the other minus that of the base, of shape (…, queries), and how
    many texts are of at least each grade, of shape (levels, …, queries).
    """
    queries = len(run_pair.gap)
    # Not -1: of no pairs at all, numpy could not tell how many rows there are.
    flat = grades.reshape(math.prod(grades.shape[:-1]), grades.shape[-1])
    starts = np.searchsorted(run_pair.query, np.arange(queries))

    def gather(values: NDArray[np.generic]) -> Floats:
        ends = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
        bounds = np.append(starts, values.shape[1])
        sums: Floats = ends[:, bounds[1:]] - ends[:, bounds[:-1]]
        return sums

    gains = run_pair.gap + gather(flat * run_pair.weight)
    totals = np.stack(
        [
            known + np.rint(gather(flat >= grade)).astype(np.int64)
            for grade, known in zip(run_pair.levels, run_pair.relevant, strict=True)
        ]
    )
    shape = (*grades.shape[:-1], queries)
    return gains.reshape(shape), totals.reshape(len(totals), *shape)


def most_likely(verdicts: Counter[str]) -> tuple[str, float]:
    """Return the verdict that came out most often, and its share."""
    verdict, times = max(verdicts.items(), key=lambda entry: (entry[1], entry[0]))
    return verdict, times / verdicts.total()
