"""Intervals of paired differences: by hand, and by how often they hold the truth."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.statistics.estimates import Estimate, estimate_mean
from assay.eval.statistics.paired import agree, estimate_difference


def test_what_is_added_to_few_pairs_by_hand():
    # Agresti and Min: of 20 pairs 5 gain and 1 loses; with half a pair more, 5.5 and 1.5 of 22.
    found = estimate_difference([1.0] * 5 + [-1.0] + [0.0] * 14, 1.0)
    center = (5.5 - 1.5) / 22
    error = np.sqrt(((5.5 + 1.5) / 22 - center**2) / 22)
    half = scipy.stats.t.ppf(0.975, 19) * error
    assert (found.low, found.high) == pytest.approx((center - half, center + half))
    assert (found.value, found.n) == (0.2, 20)
    # Of 0.3, -0.1 and one of 1: (.09 + .01 + 1) / 3.
    found = estimate_difference([0.3, -0.1] + [0.0] * 8, 1.0)
    center = 0.2 / 12
    half = scipy.stats.t.ppf(0.975, 9) * np.sqrt(((0.1 + 1.1 / 3) / 12 - center**2) / 12)
    assert (found.low, found.high) == pytest.approx((center - half, center + half))
    sure = estimate_difference([0.3, -0.1] + [0.0] * 8, 1.0, level=0.01)
    half *= scipy.stats.t.ppf(0.995, 9) / scipy.stats.t.ppf(0.975, 9)
    assert (sure.low, sure.high) == pytest.approx((center - half, center + half))


def test_the_ends_of_few():
    assert estimate_difference([0.5], 1.0, (-1.0, 1.0)) == Estimate(0.5, -1.0, 1.0, 1)
    assert estimate_difference([3.0], 3.0) == Estimate(3.0, 0.0, 6.0, 1)
    same = estimate_difference([0.0] * 12, 1.0, (-1.0, 1.0))
    assert same.low == -same.high < 0
    with pytest.raises(ValueError, match="at least one"):
        estimate_difference([], 1.0)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.sampled_from([0.05, 0.001]))
def test_it_holds_its_value_and_keeps_to_the_range(sample, level):
    found = estimate_difference(sample, 1.0, (-1.0, 1.0), level)
    assert -1 <= found.low <= found.value <= found.high <= 1
    turned = estimate_difference([-value for value in sample], 1.0, (-1.0, 1.0), level)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_an_interval_agrees_with_its_test():
    wide, narrow = Estimate(0.1, -0.1, 0.3, 9), Estimate(-0.1, -0.2, -0.01, 9)
    assert agree(wide, False) == wide
    assert agree(narrow, True) == narrow
    assert 0 < agree(wide, True).low < 1e-8
    assert agree(wide, True).high == 0.3
    assert agree(narrow, False) == Estimate(-0.1, -0.2, 0.0, 9)
    assert -1e-8 < agree(Estimate(-0.1, -0.3, 0.2, 9), True).high < 0


TRIALS = 1000


@pytest.mark.parametrize("n", [10, 20, 60])
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0, -1.0), (0.4, 0.4, 0.2, -0.1)])
def test_few_that_move_are_held_where_students_interval_fails(n, sizes):
    rng = np.random.default_rng(n)
    draws = rng.choice(sizes, (TRIALS, n)) * (rng.random((TRIALS, n)) < 0.1)
    truth = 0.1 * float(np.mean(sizes))
    held = {"ours": 0, "student": 0}
    for sample in draws.tolist():
        for name, found in (
            ("ours", estimate_difference(sample, 1.0)),
            ("student", estimate_mean(sample)),
        ):
            held[name] += found.low <= truth <= found.high
    # Of intervals that hold the truth with a chance of .95 fewer do once in 10,000 simulations.
    least = scipy.stats.binom.ppf(1e-4, TRIALS, 0.95)
    assert held["ours"] >= least
    assert n > 20 or held["student"] < least
