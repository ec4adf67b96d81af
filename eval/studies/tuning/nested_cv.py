"""Choose settings by their scores, and measure the gain of the choice on unseen queries.

The best of many points on some queries looks better on those queries than it is: part of its lead
is luck (Cawley and Talbot, "On Over-fitting in Model Selection and Subsequent Selection Bias in
Performance Evaluation", JMLR 2010). So the gain is measured by cross-validation around the choice:
in every fold the point that is best on the other folds is scored on the queries left out.

Choices of different folds use mostly the same queries, so held-out gains are not independent.
Their interval comes from making the whole choice again on resampled queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.eval.running.search_space import Point
from assay.eval.runs.json_form import in_json
from assay.eval.runs.summary.claims import Claims
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import (
    SEED,
    TAIL,
    Estimate,
    OpenEstimate,
    Range,
)
from assay.eval.statistics.groups import Clusters, estimate_clustered_mean, number_groups
from assay.eval.statistics.significance import ALPHA, TIE
from assay.retrievers.base import AssayError

FOLDS = 5
REPEATS = 20
FLIPS = 999
RESAMPLES = 499
FEWEST_MOVED = 6  # least queries with a held-out gain other than 0, for an interval

Verdict = Literal["worth taking", "gain not shown", "nothing is better"]
Scores = Mapping[str, float]
# Of shape (points, queries); row 0 is the config as given.
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Design:
    """The design of the cross-validation: `folds` of the queries, dealt `repeats` times."""

    folds: int = FOLDS
    repeats: int = REPEATS
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Queries:
    """The ids, types and groups of the queries, in one order; a group stays in one fold.

    `claims` are the claims that a choice held out in this way supports.
    """

    ids: Sequence[str]
    types: Sequence[str]
    groups: Sequence[str]
    claims: Claims


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The result of the choices on the queries left out.

    `gains` has, per query, the chosen point's score minus that of the config as given, averaged
    over repeats; `chosen` is the number of times that each row was chosen.
    """

    gains: Matrix
    chosen: Integers


@dataclass(frozen=True, slots=True)
class PointGain:
    """A point, its mean, and its gain over the config as given: paired, but not held out.

    `chosen` is the number of folds, of all repeats, in which it was the best on the other queries.
    """

    settings: Point
    mean: float
    gain: Estimate
    chosen: int


@in_json(
    ...,
    "verdict",
    "choices",
    but=("claims", "design", "naive", "held_out"),
    spread=("design",),
    claim="claims",
    best="best_settings",
    naive_gain="naive",
    held_out_gain="held_out",
)
@dataclass(frozen=True)
class TuningResult:
    """The result of tuning.

    Attributes:
        measure: The measure.
        queries: The number of queries.
        groups: The number of groups of queries.
        claims: The claims that the held-out gain supports.
        design: The design of the cross-validation.
        given: The mean of the config as given.
        points: The points.
        best: The index in `points` of the best on all queries; None if it is the config as given.
        naive: The gain of the best on the queries that it was chosen by. It has no interval,
            because one that ignores the choice would be too high.
        held_out: The gain of the choice on queries that had no part in it; see `estimate_gain` for
            its interval.
        p: The p-value of the held-out gain.
        kept: The number of choices of the config as given.
    """

    measure: str
    queries: int
    groups: int
    claims: Claims
    design: Design
    given: Estimate
    points: tuple[PointGain, ...]
    best: int | None
    naive: OpenEstimate
    held_out: OpenEstimate
    p: float
    kept: int

    @property
    def choices(self) -> int:
        """The number of choices: folds times repeats."""
        return self.design.folds * self.design.repeats

    @property
    def verdict(self) -> Verdict:
        """The verdict on the held-out gain: it must have an interval, and p must be at most .05."""
        if self.best is None:
            return "nothing is better"
        shown = self.held_out.low is not None and self.p <= ALPHA
        return "worth taking" if shown else "gain not shown"

    @property
    def best_settings(self) -> Point | None:
        """The settings of the best point; None if it is the config as given."""
        return None if self.best is None else self.points[self.best].settings


def tune(
    measure: str,
    given: Scores,
    tried: Sequence[tuple[Point, Scores]],
    queries: Queries,
    design: Design,
) -> TuningResult:
    """Choose among `tried` points by their scores per query, and measure the choice held out.

    `given` are the scores of the config as given, which may be chosen too and wins ties. Equal
    calls return equal figures. Raises AssayError if there are fewer groups than folds.
    """
    groups = number_groups(queries.groups)
    count = int(groups.max(initial=-1)) + 1
    if count < design.folds:
        raise AssayError(
            f"{len(queries.ids)} queries in {count} groups cannot be parted into {design.folds} "
            "folds; allowed: fewer folds, or a finer grouping"
        )
    scores = np.array(
        [[row[id_] for id_ in queries.ids] for row in (given, *(of for _, of in tried))]
    )
    gains = scores - scores[0]
    folds = deal(queries.types, groups, design)
    held = hold_out(gains, folds)
    best = int(choose(gains.mean(axis=1)[:, None])[0])
    found = find(measure)
    shown = [_estimate(row, groups, found.change) for row in gains]
    return TuningResult(
        measure=measure,
        queries=len(queries.ids),
        groups=count,
        claims=queries.claims,
        design=design,
        given=_estimate(scores[0], groups, found.within),
        points=tuple(
            PointGain(settings, float(row.mean()), gain, int(times))
            for (settings, _), row, gain, times in zip(
                tried, scores[1:], shown[1:], held.chosen[1:], strict=True
            )
        ),
        best=best - 1 if best else None,
        naive=OpenEstimate(shown[best].value, None, None, len(queries.ids)),
        held_out=estimate_gain(gains, groups, folds, found.change),
        p=randomise_gains(gains, groups, folds),
        kept=int(held.chosen[0]),
    )


def deal(types: Sequence[str], groups: Integers, design: Design) -> Integers:
    """Return the fold, from 0, of each query in each repeat, of shape (repeats, queries).

    Groups, numbered from 0, stay whole; types and sizes are as even as possible. The type of a
    group is that of its first query.
    """
    rng = np.random.default_rng(design.seed)
    return np.array([_deal_once(types, groups, design.folds, rng) for _ in range(design.repeats)])


def hold_out(gains: Matrix, folds: Integers) -> HeldOut:
    """Choose on all folds but one and score on that one, for every fold of every repeat.

    `gains` are the scores minus those of row 0, the config as given.
    """
    repeats, queries = folds.shape
    count = int(folds.max()) + 1
    # True for each query left out of a choice, of shape (queries, repeats * folds).
    left_out = (folds[:, None, :] == np.arange(count)[:, None]).reshape(-1, queries).T
    seen = np.maximum(queries - left_out.sum(axis=0), 1)  # a resample may lie in one fold alone
    best = choose((gains.sum(axis=1)[:, None] - gains @ left_out) / seen)
    rows = best.reshape(repeats, count)[np.arange(repeats)[:, None], folds]
    chosen = np.bincount(best, minlength=len(gains))
    return HeldOut(gains[rows, np.arange(queries)].mean(axis=0), chosen)


def estimate_gain(
    gains: Matrix, groups: Integers, folds: Integers, within: Range, resamples: int = RESAMPLES
) -> OpenEstimate:
    """Return the mean held-out gain with a 95 % interval, cut to `within`.

    Groups are drawn with replacement, with copies of a query in the same fold, and the whole choice
    is made again on each of 499 draws. Each end is the outer one of two: Student's, by the standard
    deviation of the resulting gains, and their percentile. There is no interval if fewer than six
    queries have a held-out gain other than 0. See docs/statistics.md for its coverage.
    """
    held = hold_out(gains, folds).gains
    value = float(held.mean())
    if np.count_nonzero(np.abs(held) > TIE) < FEWEST_MOVED:
        return OpenEstimate(value, None, None, len(held))
    from scipy.special import stdtrit

    rng = np.random.default_rng(SEED)
    count = int(groups.max()) + 1
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    found = []
    for _ in range(resamples):
        drawn = np.concatenate([members[group] for group in rng.integers(count, size=count)])
        found.append(hold_out(gains[:, drawn], folds[:, drawn]).gains.mean())
    half = float(stdtrit(count - 1, 1 - TAIL)) * float(np.std(found, ddof=1))
    low, high = np.quantile(found, (TAIL, 1 - TAIL))
    return Estimate(
        value,
        max(min(value - half, float(low)), within[0]),
        min(max(value + half, float(high)), within[1]),
        len(held),
    )


def randomise_gains(gains: Matrix, groups: Integers, folds: Integers, flips: int = FLIPS) -> float:
    """Return the one-sided p-value of the held-out gain, by randomisation of the whole choice.

    If no point were better or worse than the config as given, the gains of a group of queries, of
    all points together, could equally have the other sign. For 999 random draws of signs the choice
    and its held-out gain are computed again; p is the share of draws with a gain as high. A test of
    the held-out scores alone would reject too often, because each choice depends on the other
    folds.
    """
    rng = np.random.default_rng(SEED)
    observed = hold_out(gains, folds).gains.mean()
    signs = rng.choice((-1.0, 1.0), size=(flips, int(groups.max()) + 1))
    drawn = [hold_out(gains * sign[groups], folds).gains.mean() for sign in signs]
    reached = sum(gain >= observed - TIE for gain in drawn)
    return float((1 + reached) / (1 + flips))


def choose(means: Matrix) -> Integers:
    """Return the row of the greatest mean in each column, the first if several are equal."""
    best: Integers = np.argmax(means >= means.max(axis=0) - TIE, axis=0)
    return best


def _deal_once(
    types: Sequence[str], groups: Integers, folds: int, rng: np.random.Generator
) -> Integers:
    """Deal groups, large ones first, else in random order, to the fold with least of their type."""
    order = rng.permutation(int(groups.max()) + 1)
    members = [np.flatnonzero(groups == group) for group in order]
    members.sort(key=lambda queries: (-len(queries), types[queries[0]]))
    found = np.zeros(len(types), dtype=np.intp)
    sizes = [0] * folds
    of_type = {kind: [0] * folds for kind in types}
    for queries in members:
        kind = of_type[types[queries[0]]]
        fold = min(range(folds), key=lambda i: (kind[i], sizes[i]))
        found[queries] = fold
        kind[fold] += len(queries)
        sizes[fold] += len(queries)
    return found


def _estimate(values: Matrix, groups: Integers, within: Range) -> Estimate:
    return estimate_clustered_mean(values.tolist(), Clusters(groups), within)
