"""Tests, adjustments and power against enumeration by hand, known figures and simulation."""

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import (
    can_reach,
    detectable,
    find_detectable,
    find_share,
    presumes_symmetry,
    randomise,
    spread,
    standardise,
)


def enumerate_signs(differences):
    """The two-sided p-value by trying every way to choose signs."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(value >= seen - 1e-9 for value in sums) / len(sums)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-8, 8).map(lambda i: i / 8), min_size=1, max_size=10))
def test_randomisation_equals_enumeration(differences):
    assert randomise(differences) == pytest.approx(enumerate_signs(differences))


def test_randomisation_of_many_equals_scipy_on_all_of_them():
    differences = np.random.default_rng(1).normal(0.05, 0.2, 60)
    differences[::3] = 0
    expected = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=40_000, rng=2
    ).pvalue
    p = randomise(list(differences))
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected / 9_999))
    assert p == randomise(list(differences))


def test_differences_that_are_none_and_too_few():
    assert randomise([0.0] * 20) == 1.0
    assert randomise([0.0, 0.3]) == 1.0
    assert randomise([1e-17] * 8) == 1.0
    assert [can_reach(0.05, n) for n in (0, 1, 5, 6)] == [False, False, False, True]
    assert randomise([1.0] * 5) > 0.05 >= randomise([1.0] * 6)


def test_effect_size_and_spread_by_hand():
    assert standardise([1.0, 2.0, 3.0]) == pytest.approx(2.0)
    assert standardise([0.0, 0.0]) == 0.0
    assert standardise([1.0]) is None
    assert standardise([1.0, 1.0]) is None
    assert spread([1.0]) is None
    assert spread([0.0, 1.0]) == pytest.approx(np.sqrt(0.5))
    assert spread([1.0]) is None


def test_detectable_is_what_power_tables_say():
    """For d_z = 0.5 they ask for 34 pairs at power 0.8, level .05, two-sided; for 0.2, for 199."""
    for effect, pairs in ((0.5, 34), (0.2, 199), (0.8, 15)):
        assert detectable(1.0, pairs) <= effect < detectable(1.0, pairs - 1)
    assert detectable(0.4, 34) == pytest.approx(0.4 * detectable(1.0, 34))
    assert detectable(0.0, 10) == 0.0


def test_what_zeros_and_ones_show_is_what_randomisation_finds():
    for n in (12, 60):
        shown = find_detectable([0.0] * (n - 1) + [1.0], 1.0)
        assert shown is not None
        assert shown == find_detectable([0.0] * n, 1.0) > detectable(n**-0.5, n)
        rng = np.random.default_rng(n)
        moved = scipy.stats.binom.rvs(n, shown, size=2000, random_state=rng)
        # Of more than 12 of one sign the p-value is below .001, which takes draws to find.
        found = {few: few > 12 or randomise([1.0] * few) <= 0.05 for few in set(moved.tolist())}
        assert np.mean([found[few] for few in moved.tolist()]) == pytest.approx(0.8, abs=0.03)
    scattered = [1.0, -1.0, 0.0] * 20
    assert find_detectable(scattered, 1.0) == detectable(spread(scattered) or 0.0, 60)
    graded = [0.1, -0.2, 0.3] * 20
    assert find_detectable(graded, 1.0) == detectable(spread(graded) or 0.0, 60)
    halves = find_detectable([0.0] * 59 + [0.5], 0.5)
    assert halves == pytest.approx(find_detectable([0.0] * 59 + [1.0], 1.0) / 2)


def test_where_little_moved_little_is_shown():
    for few in (1, 5):
        differences = [0.0] * (60 - few) + [0.1, -0.02, 0.05, -0.1, 0.03][:few]
        assert find_detectable(differences, 1.0) == find_detectable([0.0] * 60, 1.0)
    enough = [0.0] * 54 + [0.1, -0.02, 0.05, -0.1, 0.03, 0.1]
    assert find_detectable(enough, 1.0) == detectable(spread(enough) or 0.0, 60)
    assert find_detectable([0.5], 1.0) is None
    assert find_detectable([0.0] * 5, 1.0) is None, "five signs cannot give a p-value of .05"
    assert find_detectable([0.5] * 12, 1.0) is None
    assert find_detectable([0.0] * 12, 0.0) is None


def test_the_share_of_which_enough_move_by_the_binomial_distribution():
    for moved, n in ((1, 1), (6, 60), (60, 60)):
        assert scipy.stats.binom.sf(moved - 1, n, find_share(moved, n)) == pytest.approx(0.8)


def test_losses_that_may_be_missing_by_garwoods_limit():
    """The upper limit of a Poisson mean of which `seen` came is half a quantile of chi-square."""
    for seen in (0, 1, 5):
        missing = scipy.stats.chi2.ppf(0.975, 2 * (seen + 1)) / 2 - seen
        losses = [-1.0] * seen
        for factor, presumes in ((0.99, True), (1.01, False)):
            gains = [(seen + factor * missing) / 100] * 100
            assert presumes_symmetry(gains + losses, 1.0) is presumes
            assert presumes_symmetry([-value for value in gains + losses], 1.0) is presumes
            assert presumes_symmetry([10 * value for value in gains + losses], 10.0) is presumes
    assert presumes_symmetry([0.0] * 5, 1.0)


def test_findings_made_by_rare_losses_bear_the_warning():
    """Some lose everything, the others gain as much between them: far more than .05 are found."""
    rng = np.random.default_rng(6)
    lost = 0.03
    found, bare = 0, 0
    for _ in range(100):
        differences = np.where(rng.random(100) < lost, -1.0, lost / (1 - lost))
        (p,) = randomise_family(differences[:, None]).p_values
        found += p <= 0.05
        bare += p <= 0.05 and not presumes_symmetry(differences.tolist(), 1.0)
    assert found > 0.1 * 100
    assert bare <= 0.05 * 100


@pytest.mark.parametrize(("n", "moved"), [(100, 6), (100, 12), (40, 6)])
def test_hits_show_a_difference_that_moves_enough_of_them(n, moved):
    differences = [1.0] * moved + [0.0] * (n - moved)
    found = find_detectable(differences, 1.0)
    least = next(k for k in range(n) if can_reach(0.05, k))
    # The binomial chance that so large a share moves the fewest hits that randomisation shows.
    by_count = scipy.optimize.brentq(
        lambda share: scipy.stats.binom.sf(least - 1, n, share) - 0.8, 1e-6, 1 - 1e-6
    )
    by_spread = detectable(float(np.std(differences, ddof=1)), n)
    assert found == pytest.approx(max(by_count, by_spread), abs=1e-9)
    assert (moved == 6) == (by_count > by_spread)
