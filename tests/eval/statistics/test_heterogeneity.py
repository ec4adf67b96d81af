"""Whether groups differ by unlike amounts: by enumeration, and by how often it errs."""

from itertools import product

import numpy as np
import pytest

from assay.eval.statistics.heterogeneity import compare_groups


def measure(values, groups):
    """The sum of squares between groups."""
    own = [values[groups == i] for i in sorted(set(groups.tolist()))]
    return sum(len(part) * (part.mean() - values.mean()) ** 2 for part in own)


def test_it_equals_enumeration_of_all_signs():
    rng = np.random.default_rng(4)
    values, groups = rng.normal(0, 1, 9), np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    values[groups == 0] += 1.5
    away = values - values.mean()
    drawn = [measure(np.array(signs) * away, groups) for signs in product((1, -1), repeat=9)]
    expected = np.mean(np.array(drawn) >= measure(away, groups) - 1e-6)
    assert compare_groups(values[:, None], groups) == pytest.approx((expected,))


def test_a_shift_of_all_changes_nothing_and_opposite_ones_are_found():
    rng = np.random.default_rng(5)
    values, groups = rng.normal(0, 0.2, (80, 1)), np.arange(80) % 2
    (plain,) = compare_groups(values, groups)
    assert compare_groups(values + 0.5, groups) == pytest.approx((plain,), abs=0.002)
    opposite = values + np.where(groups == 0, 0.15, -0.15)[:, None]
    assert compare_groups(opposite, groups)[0] < 0.01
    beside = compare_groups(np.hstack([opposite, rng.normal(0, 0.2, (80, 9))]), groups)
    assert beside[0] < 0.05 < min(beside[1:])


def test_nothing_is_said_of_what_does_not_vary():
    assert compare_groups(np.full((20, 2), 0.25), np.arange(20) % 2) == (1.0, 1.0)
    assert compare_groups(np.random.default_rng(1).normal(size=(20, 1)), np.zeros(20, int)) == (
        1.0,
    )


@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_groups_that_vary_unlike_are_seldom_taken_to_differ(gain):
    """With 300 trials a rate of .05 gives at most 26 in 997 of 1,000 simulations."""
    rng = np.random.default_rng(7)
    groups = np.repeat([0, 1, 2], (12, 30, 60))
    spreads = np.array([0.4, 0.2, 0.05])[groups][:, None]
    found = sum(
        min(compare_groups(gain + spreads * rng.normal(size=(102, 3)), groups)) <= 0.05
        for _ in range(300)
    )
    assert found <= 26
