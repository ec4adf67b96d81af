"""Verdicts on fused lists, on cases worked by hand and on lists drawn at random."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.studies.stores.parity.verdicts import Trial, compare, conclude, diagnose
from assay.retrievers.engines.base import EngineLists
from assay.retrievers.engines.formulas import (
    NORMALISATIONS,
    DeviationScores,
    Formula,
    ReciprocalRanks,
    ScaledScores,
    SummedScores,
)
from assay.retrievers.engines.parity.ties import settle_ties
from assay.retrievers.fusion.ranking import Scored, ordered

FORMULAS: list[Formula] = [
    ReciprocalRanks(60),
    ReciprocalRanks(2, 0),
    ReciprocalRanks(61, 0, (3.0, 0.5), "ranks", single=True),
    ReciprocalRanks(0, weights=(1.0, 0.0)),
    ScaledScores((0.7, 0.3)),
    DeviationScores(),
    *(SummedScores(name, (0.4, 0.6)) for name in NORMALISATIONS),
]


@st.composite
def draw_list(draw: st.DrawFn) -> list[Scored]:
    """Draw a list of texts with scores of which many are equal."""
    positions = draw(st.lists(st.integers(0, 40), unique=True, max_size=25))
    scores = [draw(st.integers(1, 8)) / 8 for _ in positions]
    return ordered(zip(positions, scores, strict=True))


@given(draw_list(), draw_list(), st.sampled_from(FORMULAS), st.integers(1, 60))
def test_a_formula_agrees_with_itself(
    dense: list[Scored], keyword: list[Scored], formula: Formula, limit: int
) -> None:
    fused = formula.fuse(dense, keyword)
    assert compare(fused[:limit], fused, limit) == "identical"
    rounded = [(i, float(np.float32(score))) for i, score in fused]
    assert compare(rounded[:limit], fused, limit) == "identical"


@given(draw_list(), draw_list(), st.randoms(), st.sampled_from([2.0, 60.0]))
def test_ties_within_lists_are_settled(
    dense: list[Scored], keyword: list[Scored], draw: random.Random, k: float
) -> None:
    """Whatever the order of equal scores was, the fused scores tell one that gives them."""
    formula = ReciprocalRanks(k)
    whole = EngineLists(dense, keyword)
    drawn = [sorted(side, key=lambda one: (-one[1], draw.random())) for side in whole]
    cut = EngineLists(*(side[:9] for side in drawn))
    returned = formula.fuse(*cut)
    settled = settle_ties(formula, EngineLists(dense[:9], keyword[:9]), whole, returned)
    assert [sorted(score for _, score in side) for side in settled] == [
        sorted(score for _, score in side) for side in cut
    ]
    found = {position for side in settled for position, _ in side}
    assert found == {position for position, _ in returned}
    if len({score for _, score in keyword}) == len(keyword):  # one list alone has one solution
        assert compare(returned, formula.fuse(*settled), 99) == "identical"


def test_other_scores_are_different() -> None:
    fused = [(1, 0.5), (2, 0.4), (3, 0.3)]
    assert compare([(1, 0.5), (2, 0.4), (3, 0.31)], fused, 9) == "different"
    assert compare(fused[:2], fused, 9) == "different"
    assert compare([*fused, (4, 0.1)], fused, 9) == "different"
    assert compare([(2, 0.5), (1, 0.4), (3, 0.3)], fused, 9) == "different"


def test_equal_scores_may_change_places() -> None:
    fused = [(1, 0.5), (2, 0.4), (3, 0.4)]
    assert compare([(1, 0.5), (3, 0.4), (2, 0.4)], fused, 9) == "ties"
    # At the limit another text may stand that is as good, and no other.
    assert compare([(1, 0.5), (3, 0.4)], fused, 2) == "ties"
    assert compare([(1, 0.5), (4, 0.4)], fused, 2) == "different"


def test_a_text_that_is_returned_twice_is_no_tie() -> None:
    assert compare([(1, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)], 2) == "different"
    assert compare([(1, 0.5), (2, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5), (3, 0.5)], 3) == "different"


def test_an_explanation_says_what_it_does_not_explain() -> None:
    verdicts = dict.fromkeys(map(str, range(100)), "different")
    verdicts |= dict.fromkeys(map(str, range(100, 140)), "identical")
    most = frozenset(map(str, (*range(97), *range(101, 140))))
    found = diagnose(verdicts, [Trial("k", "k = 2, not 60", most)])
    assert conclude(verdicts, found) == (
        "explained: k (k = 2, not 60); 3 of 100 that differ are not explained, "
        "1 of 40 others contradict it"
    )
    found = diagnose(verdicts, [Trial("k", "k = 2, not 60", frozenset(verdicts))])
    assert conclude(verdicts, found) == "explained: k (k = 2, not 60)"


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ({"a": "identical"}, "identical"),
        ({"a": "identical", "b": "ties"}, "identical but for ties"),
        ({"a": "ties", "b": "different"}, "different"),
        ({}, "identical"),
    ],
)
def test_all_queries_have_one_verdict(verdicts: dict[str, str], verdict: str) -> None:
    assert conclude(verdicts, None) == verdict


def test_the_best_alternative_is_named_and_the_first_of_equals() -> None:
    verdicts = dict.fromkeys("abcd", "different") | {"e": "identical"}
    some, most, all_ = frozenset("ab"), frozenset("abcd"), frozenset("abcde")
    trials = [
        Trial("k", "k = 2", some),
        Trial("depth", "10", most),
        Trial("weights", "x", all_),
        Trial("rank origin", "y", all_),
    ]
    best = diagnose(verdicts, trials)
    assert best is not None
    assert (best.family, best.share, best.kept, best.others) == ("weights", 1.0, 1, 1)
    assert conclude(verdicts, best) == "explained: weights (x)"
    # What contradicts queries that agreed is no explanation, nor what explains only some.
    for trial in trials[:2]:
        assert conclude(verdicts, diagnose(verdicts, [trial])) == "different"
    assert diagnose(verdicts, [Trial("k", "k = 2", frozenset("e"))]) is None


def test_what_is_inferred_is_the_last_resort() -> None:
    verdicts = {str(query): "different" for query in range(100)}
    nearly = frozenset(str(query) for query in range(96))
    inferred = Trial("analyzer", "inferred", frozenset(verdicts), inferred=True)
    for trial, family in ((Trial("depth", "10", nearly), "depth"), (
        Trial("depth", "10", frozenset("1")), "analyzer",
    )):  # fmt: skip
        best = diagnose(verdicts, [trial, inferred])
        assert best is not None
        assert best.family == family
