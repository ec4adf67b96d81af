"""Differences of paired scores: what each is, and what a family of them shows together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Literal

import numpy as np

from assay.eval.report.formats import count
from assay.eval.runs.summary.means import estimate_changes
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import (
    ALPHA,
    POWER,
    TIE,
    can_reach,
    detectable,
    find_detectable,
    find_share,
    presumes_symmetry,
    smallest_p,
    spread,
    standardise,
)

# The smallest difference of a measure on 0 to 1 that is worth a verdict of its own.
EFFECT = 0.05

# The standard deviation of differences in nDCG@10 that is assumed before there are any.
SCATTER = 0.3

# What is said of a finding that `presumes_symmetry`.
SYMMETRY = "is fragile: a few opposite queries would reverse it"

UNTESTED = (None, None, None, None)

Verdict = Literal["better", "worse", "no difference shown", "not shown (too few queries)"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much one measure differs from the base, over all queries or those of one `type`.

    `base` and `other` are means; `difference` is other - base with its paired interval;
    `p` is from the two-sided randomisation test of this difference alone and `adjusted` of the
    family it is judged in; too few queries for any p-value to reach .05 are not tested.
    `effect_size` is Cohen's d_z, the mean difference over its standard deviation `deviation`.
    `detectable` is the smallest difference shown with power 0.8 at level .05, tested alone, by this
    many queries that differ as these do. None stands for what is not defined. `presumes_symmetry`
    says of a difference that is shown that it is only if large gains and losses are equally rare.
    """

    measure: str
    type: str
    n: int
    base: float
    other: float
    difference: Estimate
    p: float | None
    adjusted: float | None
    effect_size: float | None
    deviation: float | None
    detectable: float | None
    wins: int
    ties: int
    losses: int
    verdict: Verdict
    presumes_symmetry: bool


@dataclass(frozen=True, eq=False)
class Contrast:
    """One measure of a pipeline beside that of another, by query: what a difference is made of."""

    measure: str
    type: str
    before: Mapping[str, float]
    after: Mapping[str, float]

    @cached_property
    def differences(self) -> Mapping[str, float]:
        """By how much each query's score rises."""
        return {query: self.after[query] - score for query, score in self.before.items()}


def foretell(n: int) -> str:
    """Return in a sentence which differences `n` queries can detect."""
    if n < 2:
        return f"With {count(n, 'query', 'queries')} you can detect no difference"
    if not can_reach(ALPHA, n):
        return (
            f"With {n} queries you can detect no difference: the smallest p-value they can give is "
            f"{smallest_p(n):.2g}"
        )
    return (
        f"With {n} queries you can detect differences of about {detectable(SCATTER, n):.2f} in "
        f"nDCG@10 (power {POWER}, if the differences have a standard deviation of {SCATTER})"
    )


@dataclass(frozen=True, slots=True)
class AdjustedDifference:
    """A difference, and its p-value adjusted as if the part of the family it is in were all of it.

    That is None where the difference is not tested.
    """

    difference: Difference
    alone: float | None


def judge_family(contrasts: Sequence[Contrast], effect: float = EFFECT) -> list[Difference]:
    """Return the difference of each contrast, tested and judged together with all the others.

    One test over the same draws of signs serves them all (see `randomise_family`): the chance of
    any false finding among them is .05. A difference that is not significant is "no difference
    shown" where these queries would have shown one of `effect` with power 0.8, else "not shown
    (too few queries)". That is also said where so few queries moved that the test could show
    nothing had all moved one way, unless one of `effect` would have moved more of them with that
    power.
    Contrasts of too few queries for any p-value to reach .05 are left out of the test.
    """
    (judged,) = judge_parts([contrasts], effect)
    return [item.difference for item in judged]


def judge_parts(
    parts: Sequence[Sequence[Contrast]], effect: float
) -> list[list[AdjustedDifference]]:
    """As `judge_family`, of contrasts in parts that are one family."""
    tested = [[item for item in part if can_reach(ALPHA, len(item.before))] for part in parts]
    family = [item for part in tested for item in part]
    queries = list(dict.fromkeys(query for item in family for query in item.before))
    table = [[item.differences.get(query, 0.0) for item in family] for query in queries]
    ends = list(accumulate(map(len, tested), initial=0))
    found = randomise_family(
        np.array(table).reshape(len(queries), len(family)),
        [range(begin, end) for begin, end in pairwise(ends)],
    )
    p_values = zip(found.p_values, found.adjusted, found.reach, chain(*found.apart), strict=True)
    by_contrast = dict(zip(map(id, family), p_values, strict=True))
    return [
        [_judge(item, *by_contrast.get(id(item), UNTESTED), effect=effect) for item in part]
        for part in parts
    ]


def describe_symmetry(differences: Sequence[Difference]) -> str:
    """Return in a clause that these differences, each of which is shown, are fragile."""
    names = ", ".join(
        f"{item.measure} of {item.type}" if item.type else item.measure for item in differences
    )
    which = "the difference" if len(differences) == 1 else "each difference"
    return f"{which} in {names} {SYMMETRY}"


def _judge(
    contrast: Contrast,
    p: float | None,
    adjusted: float | None,
    reach: float | None,
    alone: float | None,
    *,
    effect: float,
) -> AdjustedDifference:
    differences = list(contrast.differences.values())
    deviation = spread(differences)
    sign = find(contrast.measure).sign
    wins = sum(sign * value > TIE for value in differences)
    losses = sum(sign * value < -TIE for value in differences)
    largest = find_largest(contrast.measure, differences)
    shown = find_detectable(differences, largest)
    estimate = estimate_changes(contrast.measure, differences)
    n, moved = len(differences), wins + losses
    # Whether a difference of `effect` would have moved more of them.
    told = moved < n and find_share(moved + 1, n) * largest <= effect
    verdict: Verdict = "no difference shown"
    if adjusted is not None and adjusted <= ALPHA:
        verdict = "better" if sign * estimate.value > 0 else "worse"
    elif shown is None or shown > effect or ((reach or 1.0) > ALPHA and not told):
        verdict = "not shown (too few queries)"
    difference = Difference(
        measure=contrast.measure,
        type=contrast.type,
        n=n,
        base=float(np.mean(list(contrast.before.values()))),
        other=float(np.mean(list(contrast.after.values()))),
        difference=estimate,
        p=p,
        adjusted=adjusted,
        effect_size=standardise(differences),
        deviation=deviation,
        detectable=shown,
        wins=wins,
        ties=n - moved,
        losses=losses,
        verdict=verdict,
        presumes_symmetry=verdict in ("better", "worse")
        and presumes_symmetry(differences, largest),
    )
    return AdjustedDifference(difference, alone)


def find_largest(measure: str, differences: Sequence[float]) -> float:
    """Return the largest difference there can be by a measure; of those seen where none is."""
    largest = find(measure).change[1]
    return largest if np.isfinite(largest) else float(np.max(np.abs(differences)))


def contrast_measures(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the contrast of each measure, over all queries."""
    return [Contrast(name, "", base.scores[name], other.scores[name]) for name in tested]


def contrast_types(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the headline's contrast of each type of query."""
    name = choose_headline(tested)
    queries = base.run.queries
    groups = {
        kind: [id_ for id_ in queries if queries[id_].type == kind]
        for kind in sorted({query.type for query in queries.values()} - {""})
    }
    scores = (base.scores[name], other.scores[name])
    return [
        Contrast(name, kind, *({id_: found[id_] for id_ in ids} for found in scores))
        for kind, ids in groups.items()
    ]


def judge_apart(
    contrasts: Sequence[Sequence[Contrast]], effect: float, apart: Sequence[str]
) -> list[tuple[AdjustedDifference, ...]]:
    """Return the differences of each pair, those of measures that are `apart` as a family last."""
    parts = [_part(pair, apart) for pair in contrasts]
    judged = (judge_parts([pair[i] for pair in parts], effect) for i in (0, 1))
    return [(*others, *own) for others, own in zip(*judged, strict=True)]


def _part(contrasts: Sequence[Contrast], apart: Sequence[str]) -> tuple[list[Contrast], ...]:
    """Return the contrasts of the other measures, and those of the ones `apart`."""
    others = [item for item in contrasts if item.measure not in apart]
    return others, [item for item in contrasts if item.measure in apart]
