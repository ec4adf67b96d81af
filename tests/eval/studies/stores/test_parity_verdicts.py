"""Verdicts on fused lists, on cases worked by hand and on lists drawn at random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.studies.stores.parity.verdicts import compare
from assay.retrievers.engines.base import EngineLists
from assay.retrievers.engines.formulas import (
    ReciprocalRanks,
    sum_deviations,
    sum_scaled,
)
from assay.retrievers.engines.parity.parity import settle_ties
from assay.retrievers.fusion.ranking import ordered

FORMULAS = [
    ReciprocalRanks(60),
    ReciprocalRanks(2, 0),
    ReciprocalRanks(61, 0, (3.0, 0.5), "ranks", single=True),
    ReciprocalRanks(0, weights=(1.0, 0.0)),
    sum_scaled((0.7, 0.3)),
    sum_deviations(),
]


@st.composite
def draw_list(draw):
    """Draw a list of texts with scores of which many are equal."""
    positions = draw(st.lists(st.integers(0, 40), unique=True, max_size=25))
    scores = [draw(st.integers(1, 8)) / 8 for _ in positions]
    return ordered(zip(positions, scores, strict=True))


@given(draw_list(), draw_list(), st.sampled_from(FORMULAS), st.integers(1, 60))
def test_a_formula_agrees_with_itself(dense, keyword, formula, limit):
    fused = formula.fuse(dense, keyword)
    assert compare(fused[:limit], fused, limit) == "identical"
    rounded = [(i, float(np.float32(score))) for i, score in fused]
    assert compare(rounded[:limit], fused, limit) == "identical"


@given(draw_list(), draw_list(), st.randoms(), st.sampled_from([2.0, 60.0]))
def test_ties_within_lists_are_settled(dense, keyword, draw, k):
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


APART = [(1, 0.5), (2, 0.4), (3, 0.3)]
TIED = [(1, 0.5), (2, 0.4), (3, 0.4)]


@pytest.mark.parametrize(
    ("returned", "fused", "limit", "verdict"),
    [
        ([(1, 0.5), (2, 0.4), (3, 0.31)], APART, 9, "different"),
        (APART[:2], APART, 9, "different"),
        ([*APART, (4, 0.1)], APART, 9, "different"),
        ([(2, 0.5), (1, 0.4), (3, 0.3)], APART, 9, "different"),
        ([(1, 0.5), (3, 0.4), (2, 0.4)], TIED, 9, "ties"),
        ([(1, 0.5), (3, 0.4)], TIED, 2, "ties"),  # at the limit one that is as good may stand
        ([(1, 0.5), (4, 0.4)], TIED, 2, "different"),  # and no other
    ],
)
def test_equal_scores_may_change_places_and_no_others(returned, fused, limit, verdict):
    assert compare(returned, fused, limit) == verdict
