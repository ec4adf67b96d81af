"""The test of several correlated measures, against enumeration, SciPy and simulation."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.eval.statistics.max_t import find_smallest_p, randomise_drops, randomise_family


def enumerate_rows(differences):
    """Westfall and Young's adjusted p-values by trying every way to choose signs of rows."""
    scale = np.sqrt((differences**2).sum(axis=0))
    if not scale.any():
        return [1.0] * len(scale)
    rows = differences[:, scale > 0] / scale[scale > 0]
    lowest = [(np.array(signs) @ rows).min() for signs in product((1, -1), repeat=len(rows))]
    p = iter([np.mean([low <= seen + 1e-6 for low in lowest]) for seen in rows.sum(axis=0)])
    return [next(p) if size > 0 else 1.0 for size in scale]


tables = st.tuples(st.integers(1, 8), st.integers(1, 3)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(-4, 4).map(lambda i: i / 4))
)


@settings(max_examples=80, deadline=None)
@given(tables)
def test_p_values_equal_enumeration(differences):
    p_values = randomise_drops(differences, 0.05).p_values
    assert p_values == pytest.approx(enumerate_rows(differences))


def test_a_single_measure_equals_scipy():
    rng = np.random.default_rng(3)
    for n, tolerance in ((10, 1e-12), (80, 0.01)):
        differences = rng.normal(-0.05, 0.2, n)
        expected = scipy.stats.permutation_test(
            (differences,),
            np.mean,
            permutation_type="samples",
            alternative="less",
            n_resamples=20_000,
            rng=4,
        ).pvalue
        (p,) = randomise_drops(differences[:, None], 0.05).p_values
        assert p == pytest.approx(expected, abs=tolerance)


def test_measures_that_move_together_cost_nothing_and_others_do():
    rng = np.random.default_rng(5)
    one = rng.normal(-0.06, 0.2, (60, 1))
    alone = randomise_drops(one, 0.05)
    twice = randomise_drops(np.hstack([one, one * 2]), 0.05)
    assert twice.p_values == pytest.approx([*alone.p_values] * 2)
    assert twice.critical == pytest.approx(alone.critical)
    beside = randomise_drops(np.hstack([one, rng.normal(0, 0.2, (60, 2))]), 0.05)
    assert beside.p_values[0] > alone.p_values[0]
    assert beside.critical > alone.critical


def test_rows_that_did_not_move_say_nothing():
    moved = np.array([[-0.5], [-0.25], [0.125], [-0.5], [-0.25]])
    padded = np.vstack([np.zeros((200, 1)), moved])
    assert randomise_drops(padded, 0.05).p_values == randomise_drops(moved, 0.05).p_values
    still = randomise_drops(np.zeros((30, 2)), 0.01)
    assert still.p_values == (1.0, 1.0)
    assert still.critical == pytest.approx(NormalDist().inv_cdf(1 - 0.01 / 2))


def test_the_critical_value_is_the_first_that_reaches_the_level():
    differences = np.random.default_rng(9).normal(0, 0.2, (9, 2))
    critical = randomise_drops(differences, 0.05).critical
    scale = np.sqrt((differences**2).sum(axis=0))
    lowest = np.sort(
        [min(np.array(signs) @ differences / scale) for signs in product((1, -1), repeat=9)]
    )
    assert np.mean(lowest <= 1e-5 - critical) <= 0.05
    following = lowest[lowest > 1e-5 - critical][0]
    assert np.mean(lowest <= following) > 0.05


def adjust_holm(p_values):
    """Holm's adjusted p-values (Holm 1979), which know nothing of how tests move together."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def step_down(differences):
    """Westfall and Young's step-down p-values, two-sided, by trying every way to choose signs."""
    scale = np.sqrt((differences**2).sum(axis=0))
    columns = np.flatnonzero(scale)
    rows = differences[:, columns] / scale[columns]
    drawn = np.array(
        [np.abs(np.array(signs) @ rows) for signs in product((1, -1), repeat=len(rows))]
    )
    seen = np.abs(rows.sum(axis=0))
    adjusted, largest = np.ones(len(scale)), 0.0
    order = sorted(range(len(columns)), key=lambda i: -seen[i])
    for rank, i in enumerate(order):
        share = float(np.mean(drawn[:, order[rank:]].max(axis=1) >= seen[i] - 1e-6))
        largest = max(largest, share)
        adjusted[columns[i]] = largest
    return adjusted.tolist()


@settings(max_examples=80, deadline=None)
@given(tables)
def test_a_family_equals_enumeration(differences):
    family = randomise_family(differences)
    assert family.adjusted == pytest.approx(step_down(differences))
    alone = [randomise_family(differences[:, [i]]).p_values[0] for i in range(len(differences.T))]
    assert family.p_values == pytest.approx(alone)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_what_moved_one_way_reaches_no_more(differences):
    found = randomise_family(differences)
    for column, reach, adjusted in zip(differences.T, found.reach, found.adjusted, strict=True):
        one_way = np.all(column >= 0) or np.all(column <= 0)
        assert reach == pytest.approx(adjusted) if one_way else reach <= adjusted


def test_a_test_reaches_what_it_would_if_all_moved_one_way():
    table = np.zeros((13, 3))
    table[:6, 0] = (0.5, -0.25, 0.5, 0.25, -0.5, 0.5)
    table[6:, 1] = (0.5, 0.5, -0.25, 0.5, 0.5, 0.25, 0.5)
    found = randomise_family(table)
    for i in (0, 1):
        turned = table.copy()
        turned[:, i] = np.abs(turned[:, i])
        assert found.reach[i] == randomise_family(turned).adjusted[i] < found.adjusted[i]
    assert randomise_family(table[:, :1]).reach == (2**-5,)
    assert 2**-5 < found.reach[0] < 1.0 == found.reach[2]


@settings(max_examples=40, deadline=None)
@given(tables)
def test_a_part_is_adjusted_as_a_family_of_its_own(differences):
    parts = [range(1), range(1, differences.shape[1])]
    found = randomise_family(differences, parts)
    assert (found.p_values, found.adjusted) == _tell(randomise_family(differences))
    for part, adjusted in zip(parts, found.apart, strict=True):
        assert adjusted == pytest.approx(randomise_family(differences[:, part]).adjusted)


def _tell(family):
    return family.p_values, family.adjusted


def test_each_p_value_of_a_family_is_scipys():
    differences = np.random.default_rng(8).normal(0.03, 0.2, (90, 6))
    for i, p in enumerate(randomise_family(differences).p_values):
        expected = scipy.stats.permutation_test(
            (differences[:, i],), np.mean, permutation_type="samples", n_resamples=20_000, rng=4
        ).pvalue
        assert p == pytest.approx(expected, abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_the_chance_of_any_false_finding_keeps_the_level(shared):
    """With 400 trials a rate of .05 gives at most 31 findings in 997 of 1,000 simulations."""
    rng = np.random.default_rng(11)
    found, power, by_holm = 0, 0, 0
    for _ in range(400):
        base = rng.normal(0, 0.25, (60, 1))
        table = np.sqrt(shared) * base + np.sqrt(1 - shared) * rng.normal(0, 0.25, (60, 25))
        table[:, 0] += 0.1  # a true gain must not make the others be found
        family = randomise_family(table)
        found += any(p <= 0.05 for p in family.adjusted[1:])
        power += family.adjusted[0] <= 0.05
        by_holm += adjust_holm(family.p_values)[0] <= 0.05
    assert found <= 31
    assert power >= by_holm


@pytest.mark.parametrize("few", [[1.0] * 8, [0.5, -0.25, 0.75, 0.5, 1.0, 0.25, 0.5]])
def test_a_measure_in_which_few_queries_moved_is_enumerated(few):
    rng = np.random.default_rng(6)
    differences = np.zeros((60, 2))
    differences[:, 0] = rng.normal(0.02, 0.2, 60)
    differences[: len(few), 1] = few
    expected = scipy.stats.permutation_test(
        (few,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert randomise_family(differences).p_values[1] == pytest.approx(expected, abs=1e-12)


def test_a_part_in_which_little_moves_is_enumerated():
    differences = np.random.default_rng(5).normal(0.1, 0.2, (40, 3))
    differences[9:, 1:] = 0
    found = randomise_family(differences, [range(1), range(1, 3)])
    assert found.apart[0] == randomise_family(differences[:, :1]).adjusted
    assert found.apart[1] == randomise_family(differences[:, 1:]).adjusted


def test_what_was_seen_counts_as_a_draw_where_draws_are_random():
    assert randomise_family(np.full((40, 2), 0.3)).adjusted == pytest.approx((1e-4, 1e-4))


@pytest.mark.parametrize("n", [1, 5, 13, 30])
def test_no_drop_has_a_smaller_p_value_than_that_of_cases_that_all_drop(n):
    (p,) = randomise_drops(np.full((n, 1), -1.0), 0.05).p_values
    assert p == find_smallest_p(n)
