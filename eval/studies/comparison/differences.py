"""Differences of paired scores, tested together as a family."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.eval.report.formats import count
from assay.eval.runs.summary.claims import Claims, Sampling
from assay.eval.runs.summary.means import find_largest
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import estimate_grouped_difference, spread_over_groups
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.paired import agree, estimate_difference
from assay.eval.statistics.significance import (
    ALPHA,
    TIE,
    can_reach,
    detectable,
    find_detectable,
    find_share,
    presumes_symmetry,
    spread,
    standardise,
)

# The smallest difference that matters, of a measure from 0 to 1.
EFFECT = 0.05

# The measure for which `foretell` names the detectable difference, and the standard deviation of
# its differences that is assumed before there are any.
FORETOLD, SCATTER = "nDCG@10", 0.3

# The words for a finding that `presumes_symmetry`.
SYMMETRY = "is fragile: a few opposite queries would reverse it"

Verdict = Literal[
    "better",
    "worse",
    "no difference shown",
    "not shown (too few queries)",
    "not tested",
]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of one measure from the base, over all queries or those of one `type`.

    Undefined figures are None. Too few queries for any p-value to reach .05 are not tested:
    `simultaneous`, `p` and `adjusted` are None.

    Attributes:
        measure: The name of the measure.
        type: The type of query; "" for all queries.
        n: The number of queries.
        base: The mean of the base.
        other: The mean of the other run.
        difference: other - base, with its own paired 95 % interval.
        simultaneous: The same with the interval that holds for the whole family at once, and
            excludes 0 exactly if the difference is shown.
        p: The p-value of the two-sided randomisation test of this difference alone.
        adjusted: The p-value adjusted for its family, and not below that of the family's gate (see
            `judge_parts`).
        effect_size: Cohen's d_z: the mean difference divided by `deviation`.
        deviation: The standard deviation of the differences.
        detectable: The smallest difference that this number of queries, varying as these do, shows
            with power 0.8, tested with the whole family.
        detectable_alone: The same if this difference were tested alone, at level .05.
        wins: The number of queries that the other run scores better on.
        ties: The number of queries with equal scores.
        losses: The number of queries that the other run scores worse on.
        verdict: The verdict.
        presumes_symmetry: True if the difference is shown only if large gains and losses are
            equally rare.

    """

    measure: str
    type: str
    n: int
    base: float
    other: float
    difference: Estimate
    simultaneous: Estimate | None
    p: float | None
    adjusted: float | None
    effect_size: float | None
    deviation: float | None
    detectable: float | None
    detectable_alone: float | None
    wins: int
    ties: int
    losses: int
    verdict: Verdict
    presumes_symmetry: bool

    @property
    def shown(self) -> bool:
        """True if the difference is shown: its verdict is better or worse."""
        return self.verdict in ("better", "worse")

    @property
    def reported_p(self) -> float | None:
        """The adjusted p-value; None if the difference is not tested."""
        return None if self.verdict == "not tested" else self.adjusted

    @property
    def interval(self) -> Estimate:
        """The interval that is displayed: the simultaneous one if the difference is tested."""
        return self.simultaneous or self.difference


@dataclass(frozen=True, eq=False)
class Contrast:
    """The scores of two pipelines in one measure, by query, from which a difference is computed."""

    measure: str
    type: str
    before: Mapping[str, float]
    after: Mapping[str, float]

    @cached_property
    def differences(self) -> NDArray[np.float64]:
        """The increase in the score of each query of `before`."""
        after = np.fromiter(map(self.after.__getitem__, self.before), float, len(self.before))
        return after - _list_values(self.before)


def _list_values(scores: Mapping[str, float]) -> NDArray[np.float64]:
    return np.fromiter(scores.values(), float, len(scores))


def foresee(n: int) -> float | None:
    """Return the smallest difference in `FORETOLD` that `n` queries are expected to show.

    It is that shown with `POWER` if the differences have a standard deviation of `SCATTER`; None if
    `n` queries are too few to show any.
    """
    return detectable(SCATTER, n) if n > 1 and can_reach(ALPHA, n) else None


def foretell(n: int, independent: float | None = None, *, here: bool = False) -> str:
    """Return sentences on the differences `n` questions can show, and the number for half of that.

    Differences are assumed to have a standard deviation of `SCATTER`, and to be shown with `POWER`.
    `independent` is the effective number of independent questions; `n` if not given. `here` says
    that they are shown for these documents alone.
    """
    shown = foresee(n if independent is None else round(independent))
    if shown is None:
        least = "6" if independent is None else "6, on as many documents"
        told = f"{count(n, 'question')} can show no difference between pipelines."
        return f"{told} Ask at least {least}."
    return (
        f"{'On these documents ' if here else ''}{n} questions show differences of about "
        f"{shown:.2f} in {FORETOLD} or more. Ask {4 * n:,} to see half of that."
    )


@dataclass(frozen=True, slots=True)
class AdjustedDifference:
    """A difference, and its p-value adjusted as if its part of the family were the whole family.

    `alone`, that p-value, is None if the difference is not tested.
    """

    difference: Difference
    alone: float | None


@dataclass(frozen=True)
class Grounds:
    """The basis of a claim on documents like these.

    Attributes:
        sampling: The groups in which the questions were drawn.
        by_question: The difference of each contrast by question, by its `id()`.

    """

    sampling: Sampling
    by_question: Mapping[int, AdjustedDifference]


@dataclass(frozen=True, slots=True)
class _Test:
    """The result of the family's test for a contrast; by default that of one not tested."""

    p: float | None = None
    adjusted: float | None = None
    reach: float = 1.0
    alone: float | None = None
    level: float = ALPHA


def judge_family(
    contrasts: Sequence[Contrast], effect: float = EFFECT, claims: Claims | None = None
) -> list[Difference]:
    """Return the difference of each contrast, tested and judged together with all the others.

    One test over the same draws of signs covers all of them (see `randomise_family`): the chance of
    any false finding among them is .05. A difference that is not significant is "no difference
    shown" if these queries would have shown one of `effect` with power 0.8 in this family, else
    "not shown (too few queries)". It is the latter, too, if so few queries moved that the test
    could show nothing even if all had moved one way, unless a difference of `effect` would have
    moved more of them with that power. Contrasts with too few queries for any p-value to reach .05
    are left out of the test. With `claims` the test is by the leading one, else by question.
    """
    if claims is None:
        (judged,) = judge_parts([contrasts], effect)
        return [item.difference for item in judged]
    return [item.leading for item in judge_claims(contrasts, claims, effect)]


class Claimed(NamedTuple):
    """A difference by the leading claim, and by the other one."""

    leading: Difference
    opposite: Difference


def judge_claims(
    contrasts: Sequence[Contrast], claims: Claims, effect: float = EFFECT
) -> list[Claimed]:
    """Judge a family as `judge_family`, by both claims; equal if no queries share a group."""
    (by_question,) = judge_parts([contrasts], effect)
    if claims.single:
        return [Claimed(item.difference, item.difference) for item in by_question]
    found = {id(item): own for item, own in zip(contrasts, by_question, strict=True)}
    (by_group,) = judge_parts([contrasts], effect, grounds=Grounds(claims.sampling, found))
    first, second = by_question, by_group
    if claims.leading == "documents":
        first, second = second, first
    return [Claimed(a.difference, b.difference) for a, b in zip(first, second, strict=True)]


def judge_parts(
    parts: Sequence[Sequence[Contrast]],
    effect: float,
    gates: Sequence[float] = (),
    grounds: Grounds | None = None,
) -> list[list[AdjustedDifference]]:
    """Judge contrasts in several parts as one family; see `judge_family`.

    `gates` has a p-value for each part. A part whose p-value is above .05 is not tested, but stays
    in the family: a family of only the parts with an open gate would be chosen by the same queries
    that it is tested on, and err too often. Adjusted p-values are not below that of the gate
    (Dmitrienko and Tamhane, "Gatekeeping procedures with clinical trial applications",
    Pharmaceutical Statistics 2007).

    With `grounds` the claim is on documents like these, and signs are drawn by group.
    """
    tested = [[item for item in part if _can_show(item, grounds)] for part in parts]
    family = [item for part in tested for item in part]
    asked = {id(item.before): item.before for item in family}  # many pairs share these
    rows = {query: i for i, query in enumerate(dict.fromkeys(chain.from_iterable(asked.values())))}
    places = {key: [rows[query] for query in queries] for key, queries in asked.items()}
    table = np.zeros((len(rows), len(family)))
    for column, item in enumerate(family):
        table[places[id(item.before)], column] = item.differences
    ends = list(accumulate(map(len, tested), initial=0))
    groups = grounds.sampling.number(list(rows)) if grounds else None
    share = grounds.sampling.share if grounds else 0.0
    columns = [range(begin, end) for begin, end in pairwise(ends)]
    found = randomise_family(table, columns, groups, share)
    values = zip(found.p_values, found.adjusted, found.reach, chain(*found.apart), strict=True)
    tests = {id(item): _Test(*own, found.level) for item, own in zip(family, values, strict=True)}
    return [
        [_judge(item, tests.get(id(item), _Test()), gate, effect, grounds) for item in part]
        for part, gate in zip(parts, gates or [0.0] * len(parts), strict=True)
    ]


def describe_symmetry(differences: Sequence[Difference]) -> str:
    """Return a clause that these differences, all of them shown, are fragile."""
    names = ", ".join(
        f"{item.measure} of {item.type}" if item.type else item.measure for item in differences
    )
    which = "the difference" if len(differences) == 1 else "each difference"
    return f"{which} in {names} {SYMMETRY}"


def _can_show(contrast: Contrast, grounds: Grounds | None) -> bool:
    """Return True if there are enough queries, or groups of them, for a p-value of .05."""
    queries = list(contrast.before)
    independent = set(grounds.sampling.number(queries).tolist()) if grounds else queries
    return can_reach(ALPHA, len(independent))


def _judge(
    contrast: Contrast, test: _Test, gate: float, effect: float, grounds: Grounds | None
) -> AdjustedDifference:
    differences = contrast.differences
    measure = find(contrast.measure)
    wins = int(np.count_nonzero(measure.sign * differences > TIE))
    losses = int(np.count_nonzero(measure.sign * differences < -TIE))
    n, moved = len(differences), wins + losses
    largest = find_largest(contrast.measure, differences.tolist())
    sample = _Sample(contrast, largest, grounds)
    independent = sample.independent
    found = sample.raise_detectable(find_detectable(independent, largest, test.level), False)
    estimate = sample.estimate(ALPHA)
    # `told` is True if a difference of `effect` would have moved more of them.
    units, stirred = len(independent), int(np.count_nonzero(np.abs(independent) > TIE))
    told = stirred < units and find_share(stirred + 1, units) * largest <= effect
    adjusted = None if test.adjusted is None else max(test.adjusted, gate, sample.floor)
    verdict: Verdict = "no difference shown"
    if adjusted is not None and adjusted <= ALPHA:
        verdict = "better" if measure.sign * estimate.value > 0 else "worse"
    elif adjusted is not None and gate > ALPHA:
        verdict = "not tested"
    elif found is None or found > effect or (test.reach > ALPHA and not told):
        verdict = "not shown (too few queries)"
    shown = verdict in ("better", "worse")
    together = sample.estimate(test.level)
    difference = Difference(
        measure=contrast.measure,
        type=contrast.type,
        n=n,
        base=float(np.mean(_list_values(contrast.before))),
        other=float(np.mean(_list_values(contrast.after))),
        difference=estimate,
        simultaneous=None if adjusted is None else agree(together, shown),
        p=None if test.p is None else max(test.p, sample.floor_alone),
        adjusted=adjusted,
        effect_size=standardise(differences),
        deviation=spread(differences),
        detectable=found,
        detectable_alone=sample.raise_detectable(find_detectable(independent, largest), True),
        wins=wins,
        ties=n - moved,
        losses=losses,
        verdict=verdict,
        presumes_symmetry=shown and presumes_symmetry(differences, largest),
    )
    alone = None if test.alone is None else max(test.alone, sample.floor_of_part)
    return AdjustedDifference(difference, alone)


class _Sample:
    """The differences of a contrast for one claim: by question, or by group.

    A claim on documents like these includes the claim on new questions. So its p-values are not
    below those by question (`floor` of the family, `floor_of_part`, `floor_alone`), and its
    interval contains that by question.
    """

    def __init__(self, contrast: Contrast, largest: float, grounds: Grounds | None) -> None:
        self._differences = contrast.differences
        self._largest = largest
        self._range = find(contrast.measure).change
        self._groups: NDArray[np.int64] | None = None
        self._share = 0.0
        self.floor = self.floor_alone = self.floor_of_part = 0.0
        self._by_question: Difference | None = None
        if grounds is not None:
            self._groups = grounds.sampling.number(list(contrast.before))
            self._share = grounds.sampling.share
            below = grounds.by_question[id(contrast)]
            self._by_question = below.difference
            self.floor = below.difference.adjusted or 0.0
            self.floor_alone = below.difference.p or 0.0
            self.floor_of_part = below.alone or 0.0

    @cached_property
    def independent(self) -> NDArray[np.float64]:
        """The differences by question, or by group values whose mean varies in the same way."""
        if self._groups is None:
            return self._differences
        return spread_over_groups(self._differences, self._groups)

    def raise_detectable(self, found: float | None, alone: bool) -> float | None:
        """Return `found`, the smallest difference that is shown, but not below that by question."""
        if self._by_question is None:
            return found
        own = self._by_question.detectable_alone if alone else self._by_question.detectable
        return None if found is None or own is None else max(found, own)

    def estimate(self, level: float) -> Estimate:
        """Return the mean difference with its interval."""
        plain = estimate_difference(self._differences, self._largest, self._range, level)
        if self._groups is None:
            return plain
        grouped = estimate_grouped_difference(
            self._differences, self._groups, self._largest, self._range, level, self._share
        )
        low, high = min(plain.low, grouped.low), max(plain.high, grouped.high)
        return Estimate(plain.value, low, high, plain.n)
