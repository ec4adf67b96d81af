import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.statistics.estimates import SHARE, estimate_mean
from assay.eval.statistics.sampling import estimate_weighted_mean

SCORES = [0.1, 0.4, 0.35, 0.8, 1.0, 0.0]


def test_students_interval_and_that_of_who_asks_everybody():
    found = estimate_weighted_mean(SCORES, [1] * 6, [0] * 6, [10**9])
    student = estimate_mean(SCORES)
    assert (found.value, found.low, found.high) == pytest.approx(
        (student.value, student.low, student.high), abs=1e-6
    )
    found = estimate_weighted_mean([0.0, 1.0], [9, 1], [0, 1], [1, 1], SHARE)
    assert (found.low, found.value, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_two_strata_by_hand():
    # Chances are 2 of 4 and 2 of 10: weights 2 and 5 a search.
    found = estimate_weighted_mean([0.2, 0.6, 0.5, 1.0], [3, 1, 2, 2], [0, 0, 1, 1], [4, 10])
    weights = [6, 2, 10, 10]
    mean = (6 * 0.2 + 2 * 0.6 + 10 * 0.5 + 10) / 28
    assert found.value == pytest.approx(mean)
    one, two, three, four = (
        size * (y - mean) / sum(weights)
        for size, y in zip([3, 1, 2, 2], [0.2, 0.6, 0.5, 1.0], strict=True)
    )
    first = 4**2 * (1 - 2 / 4) * (one - two) ** 2 / 2 / 2
    second = 10**2 * (1 - 2 / 10) * (three - four) ** 2 / 2 / 2
    freedom = (first + second) ** 2 / (first**2 + second**2)  # Satterthwaite's, one of each
    from scipy.stats import t

    half = float(t.ppf(0.975, freedom)) * math.sqrt(first + second)
    assert found.high - found.value == pytest.approx(half)


def test_shares_by_hand():
    found = estimate_weighted_mean([1.0] * 20, [1] * 20, [0] * 20, [500], SHARE)
    assert found.low == pytest.approx(0.025 ** (1 / 20))
    assert found.high == 1
    found = estimate_weighted_mean([1.0] * 15 + [0.0] * 5, [1] * 20, [0] * 20, [10**9], SHARE)
    low, high = (
        scipy.stats.beta.ppf(0.025, 0.75 * 19, 0.25 * 19 + 1),
        scipy.stats.beta.ppf(0.975, 0.75 * 19 + 1, 0.25 * 19),
    )
    assert (found.value, found.low, found.high) == pytest.approx((0.75, low, high), abs=1e-6)


def test_strata_of_equal_hits_do_not_prove_that_there_is_no_miss():
    rng = np.random.default_rng(0)
    hits, sizes = np.arange(300) % 25 > 0, 300 // np.arange(1, 301)
    truth = float(hits @ sizes / sizes.sum())
    held = []
    for _ in range(300):
        drawn = np.concatenate([10 * i + rng.permutation(10)[:2] for i in range(30)])
        strata = np.repeat(range(30), 2)
        found = estimate_weighted_mean(
            hits[drawn].astype(float), sizes[drawn], strata, [10] * 30, SHARE
        )
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) > 0.94


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12),
    st.integers(0, 2**32 - 1),
    st.floats(0.5, 100),
)
def test_sizes_count_by_their_ratios(scores, seed, scale):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 50, len(scores)).astype(float)
    strata = np.sort(rng.integers(0, 3, len(scores)))
    _, strata = np.unique(strata, return_inverse=True)
    members = [int(np.sum(strata == i)) + int(rng.integers(0, 30)) for i in range(max(strata) + 1)]
    one = estimate_weighted_mean(scores, sizes, strata, members, (0, 1))
    other = estimate_weighted_mean(scores, sizes * scale, strata, members, (0, 1))
    assert 0 <= one.low <= one.value + 1e-9
    assert one.value - 1e-9 <= one.high <= 1
    assert (one.value, one.low, one.high) == pytest.approx(
        (other.value, other.low, other.high), abs=1e-6
    )
