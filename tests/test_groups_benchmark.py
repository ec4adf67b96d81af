"""The simulation of groups: its samples, and that it tests them as the product does."""

import numpy as np
import pytest

from assay.eval.statistics.groups import find_design_effect
from assay.eval.statistics.significance import randomise
from benchmarks.groups import (
    POPULATION,
    SHAPES,
    draw_from_finite,
    find_p_values,
    flatten,
    make_up,
)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_made_up_has_mean_0_and_the_correlation_that_is_planted(shape):
    rng = np.random.default_rng(1)
    (plain,) = make_up(shape, 0.0)(4_000, 1, rng)
    (alike,) = make_up(shape, 0.6)(4_000, 1, rng)
    assert np.concatenate(plain).mean() == pytest.approx(0, abs=0.01)
    assert np.concatenate(alike).std() == pytest.approx(0.2, rel=0.1)
    assert find_design_effect(*flatten(plain)) == pytest.approx(1, abs=0.3)
    assert find_design_effect(*flatten(alike)) > 5


def test_samples_are_tested_one_by_one_as_alone():
    samples = make_up("even", 0.3)(9, 5, np.random.default_rng(2))
    _, found = find_p_values(samples, 0.0)
    assert found == pytest.approx(
        [randomise([float(group.sum()) for group in sample]) for sample in samples]
    )


def test_of_all_documents_only_the_questions_are_left_to_chance():
    draw = draw_from_finite()
    samples = draw(POPULATION, 20, np.random.default_rng(3))
    plain, corrected = find_p_values(samples, 1.0)
    assert corrected == pytest.approx(plain)
