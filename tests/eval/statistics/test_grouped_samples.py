"""Samples in groups: against matrices, enumeration and simulation, and against single cases."""

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import (
    assume_design_effect,
    count_effective,
    estimate_grouped_difference,
    find_design_effect,
    list_independent,
    number_groups,
    spread_over_groups,
)
from assay.eval.statistics.heterogeneity import compare_groups
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.paired import estimate_difference
from assay.eval.statistics.significance import randomise

BOUNDS = (-1.0, 1.0)
UNEVEN = np.repeat(np.arange(7), (5, 1, 3, 8, 2, 1, 4))

scores = st.integers(-4, 4).map(lambda i: i / 4)
tables = st.tuples(st.integers(2, 18), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=scores),
        arrays(np.int64, shape[0], elements=st.integers(0, 5)),
    )
)


def draw(seed, groups, common=0.5):
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.2, int(groups.max()) + 1)[groups]
    return common * shared + rng.normal(0, 0.2, len(groups))


def find_variance(values, groups):
    """CR2 of a mean as Bell and McCaffrey write it, by matrices."""
    n, hat = len(values), np.full((len(values), len(values)), 1 / len(values))
    residuals, variance = values - values.mean(), 0.0
    for i in set(groups.tolist()):
        own = groups == i
        adjusted = scipy.linalg.fractional_matrix_power((np.eye(n) - hat)[np.ix_(own, own)], -0.5)
        variance += float(np.real(adjusted @ residuals[own]).sum()) ** 2 / n**2
    return variance


def find_freedom(groups, correlation):
    """Satterthwaite's degrees of freedom of CR2, by matrices (Imbens and Kolesár 2016)."""
    n, hat = len(groups), np.full((len(groups), len(groups)), 1 / len(groups))
    columns = []
    for i in sorted(set(groups.tolist())):
        own = groups == i
        adjusted = scipy.linalg.fractional_matrix_power((np.eye(n) - hat)[np.ix_(own, own)], -0.5)
        columns.append(np.real(np.ones(own.sum()) @ adjusted @ (np.eye(n) - hat)[own]))
    same = groups[:, None] == groups[None, :]
    working = np.where(same, correlation, 0.0) + (1 - correlation) * np.eye(n)
    spread = np.array(columns) @ working @ np.array(columns).T
    return float(np.trace(spread) ** 2 / np.sum(spread**2))


def test_the_effective_number_and_the_design_effect_by_hand_and_by_matrices():
    assert count_effective(np.repeat(np.arange(5), 8)) == 5
    assert count_effective(UNEVEN) == pytest.approx(24**2 / 120)
    assert assume_design_effect(UNEVEN, 0.25) == pytest.approx(1 + 4 * 0.25)
    # Equal cases within a group of four: as many independent ones as there are groups.
    groups = np.repeat(np.arange(40), 4)
    values = np.random.default_rng(2).normal(size=40)[groups]
    assert find_design_effect(values, groups) == pytest.approx(4, rel=0.03)
    assert find_design_effect(np.zeros(24), UNEVEN) == 1.0
    assert find_design_effect([0.1, 0.4], np.array([0, 0])) == 1.0
    values = draw(3, UNEVEN)
    expected = find_variance(values, UNEVEN) / (values.var(ddof=1) / len(values))
    assert find_design_effect(values, UNEVEN) == pytest.approx(expected)


@pytest.mark.parametrize("common", [0.0, 3.0])
def test_an_interval_is_that_of_matrices_with_two_groups_added(common):
    """Without those, which are told apart by hand, it is CR2 but for one case in all."""
    values, n = draw(4, UNEVEN, common), len(UNEVEN)
    found = estimate_grouped_difference(values, UNEVEN, 0.0)
    sizes, sums = np.bincount(UNEVEN), np.bincount(UNEVEN, values)
    typical = float(np.sum(sizes**2)) / n
    count = n + 2 * typical
    middle = values.sum() / count
    size = float(np.sum((sums / typical) ** 2)) / (len(sizes) + 1)
    # The matrices' variance about another middle.
    moved = np.sum((sums - sizes * middle) ** 2 / (1 - sizes / n)) * (1 - 1 / n)
    error = np.sqrt(moved + typical**2 * (size + 2 * middle**2)) / count
    means = sums / sizes
    between = np.sum(sizes * (means - values.mean()) ** 2) / 6
    inside = np.sum((values - means[UNEVEN]) ** 2) / (n - 7)
    shared = max((between - inside) / ((n - np.sum(sizes**2) / n) / 6), 0.0)
    freedom = find_freedom(UNEVEN, shared / (shared + inside))
    half = scipy.stats.t.ppf(0.975, freedom) * error
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(tables)
def test_without_groups_all_is_as_it_was(table):
    """To the bit: each case a group of its own, whatever its number."""
    differences, _ = table
    alone = np.arange(len(differences))
    for share in (0.0, 0.4):
        assert randomise_family(differences, [[0]], alone, share) == randomise_family(
            differences, [[0]]
        )
        kinds = alone % 2
        assert compare_groups(differences, kinds, alone, share) == compare_groups(
            differences, kinds
        )
        first = differences[:, 0]
        assert estimate_grouped_difference(
            first, alone, 1.0, BOUNDS, share=share
        ) == estimate_difference(first, 1.0, BOUNDS)
    assert find_design_effect(first, alone) == 1.0
    assert np.array_equal(spread_over_groups(first, alone), first)


@settings(max_examples=60, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_names_and_order_of_groups_mean_nothing(table, random):
    differences, names = table
    groups = number_groups(names.tolist())
    renamed = number_groups([f"document {9 - i}" for i in names.tolist()])
    assert np.array_equal(groups, renamed)
    # Up to 13 groups all signs are tried, so that the order of cases means nothing either.
    order = np.random.default_rng(len(names)).permutation(len(names))
    shuffled = number_groups(names[order].tolist())
    one = randomise_family(differences, (), groups)
    other = randomise_family(differences[order], (), shuffled)
    assert one.p_values == pytest.approx(other.p_values)
    assert one.adjusted == pytest.approx(other.adjusted)
    first = estimate_grouped_difference(differences[:, 0], groups, 1.0)
    again = estimate_grouped_difference(differences[order, 0], shuffled, 1.0)
    assert (first.low, first.high) == pytest.approx((again.low, again.high))
    assert count_effective(groups) == pytest.approx(count_effective(shuffled))


@settings(max_examples=150, deadline=None)
@given(tables)
def test_a_question_asked_twice_on_its_document_tells_nothing_new(table):
    differences, names = table
    groups = number_groups(names.tolist())
    twice = np.concatenate([differences, differences])
    doubled = np.concatenate([groups, groups])
    one = randomise_family(differences, (), groups)
    assert randomise_family(twice, (), doubled).p_values == pytest.approx(one.p_values)
    before = estimate_grouped_difference(differences[:, 0], groups, 1.0)
    after = estimate_grouped_difference(twice[:, 0], doubled, 1.0)
    assert after.high - after.low >= (before.high - before.low) * (1 - 1e-6)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_p_values_equal_enumeration_of_signs_by_group(table):
    differences, names = table
    groups = number_groups(names.tolist())
    count = int(groups.max()) + 1
    drawn = [np.array(signs)[groups] @ differences for signs in product((1, -1), repeat=count)]
    seen = np.abs(differences.sum(axis=0))
    expected = np.mean(np.abs(drawn) >= seen - 1e-4 * np.abs(differences).sum(axis=0), axis=0)
    found = randomise_family(differences, (), groups)
    assert found.p_values == pytest.approx(expected, abs=1e-9)
    alone = randomise(np.bincount(groups, differences[:, 0]).tolist())
    assert alone == pytest.approx(found.p_values[0], abs=1e-9)


def test_types_that_differ_are_compared_by_enumeration_of_signs_by_group():
    groups, kinds = UNEVEN, np.arange(24) % 3
    values = draw(8, groups) + np.where(kinds == 1, 0.2, 0.0)
    away = values - values.mean()

    def measure(changed):
        means = [changed[kinds == i].sum() ** 2 / np.sum(kinds == i) for i in range(3)]
        return float(sum(means) - changed.sum() ** 2 / len(changed))

    drawn = [measure(np.array(signs)[groups] * away) for signs in product((1, -1), repeat=7)]
    expected = np.mean(np.array(drawn) >= measure(away) - 1e-5)
    assert compare_groups(values[:, None], kinds, groups) == pytest.approx((expected,))


def test_rows_and_values_of_groups_vary_as_the_sum_does():
    # Of share f, 1 - f of the variance by groups and f of that by cases; single ones as cases.
    values = draw(9, UNEVEN)[:, None]
    by_case, by_group = float(np.sum(values**2)), np.bincount(UNEVEN, values[:, 0]) ** 2
    assert np.array_equal(list_independent(values, UNEVEN, 1.0), values)
    for share in (0.0, 0.3, 0.9):
        rows = list_independent(values, UNEVEN, share)
        expected = (1 - share) * float(np.sum(by_group)) + share * by_case
        assert float(np.sum(rows**2)) == pytest.approx(expected)
    values = draw(12, UNEVEN)
    found = spread_over_groups(values, UNEVEN)
    assert found.mean() == pytest.approx(values.mean())
    sizes, sums = np.bincount(UNEVEN), np.bincount(UNEVEN, values)
    error = np.sqrt(np.sum((sums - sizes * values.mean()) ** 2) * 7 / 6) / 24
    assert found.std(ddof=1) / np.sqrt(7) == pytest.approx(error)


def test_with_a_larger_share_of_the_documents_less_is_left_to_chance():
    groups = np.repeat(np.arange(12), 8)
    values = draw(11, groups, 2.0) + 0.15
    shares = (0.0, 0.3, 0.6, 0.9, 1.0)
    found = [estimate_grouped_difference(values, groups, 1.0, share=share) for share in shares]
    lengths = [item.high - item.low for item in found]
    assert lengths == sorted(lengths, reverse=True)
    assert found[-1] == estimate_difference(values, 1.0)
    p_values = [
        randomise_family(values[:, None], (), groups, share).p_values[0] for share in shares
    ]
    assert p_values == sorted(p_values, reverse=True)
    assert p_values[-1] == randomise_family(values[:, None]).p_values[0]
    kinds = np.arange(96) % 2
    assert compare_groups(values[:, None], kinds, groups, 0.5)[0] <= 1


def test_a_single_group_bounds_nothing():
    alone = np.zeros(5, dtype=np.int64)
    assert estimate_grouped_difference([0.2] * 5, alone, 1.0, BOUNDS) == Estimate(0.2, -1, 1, 5)
    with pytest.raises(ValueError, match="at least one"):
        estimate_grouped_difference([], np.array([], dtype=np.int64), 1.0)


def test_false_findings_of_correlated_questions_stay_near_the_level():
    """25 documents of 6 questions: by question about a third are false, by group a twentieth."""
    groups = np.repeat(np.arange(25), 6)
    rng = np.random.default_rng(13)
    common = rng.normal(0, 0.2, (25, 400))[groups]
    differences = common + rng.normal(0, 0.2, (150, 400))
    by_group = np.array(randomise_family(differences, (), groups).p_values)
    by_case = np.array(randomise_family(differences).p_values)
    assert np.mean(by_group <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(by_case <= 0.05) > 0.2
    held = [
        (found := estimate_grouped_difference(differences[:, i], groups, 1.0)).low
        <= 0
        <= found.high
        for i in range(400)
    ]
    assert np.mean(held) >= 0.93
