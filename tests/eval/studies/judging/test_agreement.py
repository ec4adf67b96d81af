"""Agreement of judges against tables counted by hand."""

import pytest

from assay.eval.statistics.agreement import measure_agreement


def test_kappa_of_a_known_table():
    """Counts 20, 5, 10, 15: κ = (0.7 − 0.5) / (1 − 0.5); of two grades both κ are one."""
    found = measure_agreement([(0, 0)] * 20 + [(0, 1)] * 5 + [(1, 0)] * 10 + [(1, 1)] * 15)
    assert (found.n, found.same) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.weighted == pytest.approx(0.4)


def test_weighted_kappa_forgives_near_grades():
    """By hand: squares 1 + 1 + 9 observed; by chance (0+1+4+9 + 1+0+1+4 + …) / 4."""
    found = measure_agreement([(0, 1), (1, 0), (2, 2), (3, 3)])
    assert found.kappa == pytest.approx(1 - 4 * 2 / 12)
    assert found.weighted == pytest.approx(1 - 4 * 2 / 40)


def test_agreement_without_a_choice_has_no_kappa():
    found = measure_agreement([(1, 1), (1, 1)])
    assert (found.same, found.kappa, found.weighted) == (1, None, None)
