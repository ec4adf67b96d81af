"""Effects of several studies as one, held against published figures and simulation."""

import numpy as np
import pytest

from assay.eval.statistics.meta_analysis import combine_effects, foresee_effect

# Thirteen trials of the BCG vaccine (Colditz et al., JAMA 1994): cases and others, of those
# vaccinated and of those that were not.
TRIALS = np.array(
    [
        [4, 119, 11, 128],
        [6, 300, 29, 274],
        [3, 228, 11, 209],
        [62, 13536, 248, 12619],
        [33, 5036, 47, 5761],
        [180, 1361, 372, 1079],
        [8, 2537, 10, 619],
        [505, 87886, 499, 87892],
        [29, 7470, 45, 7232],
        [17, 1699, 65, 1600],
        [186, 50448, 141, 27197],
        [5, 2493, 3, 2338],
        [27, 16886, 29, 17825],
    ],
    dtype=float,
)


def read_trials():
    """Return the log relative risks, and their variances."""
    sick, well, controls_sick, controls_well = TRIALS.T
    effects = np.log(sick / (sick + well)) - np.log(controls_sick / (controls_sick + controls_well))
    variances = (
        1 / sick - 1 / (sick + well) + 1 / controls_sick - 1 / (controls_sick + controls_well)
    )
    return effects, variances


def test_the_trials_of_the_bcg_vaccine_have_the_published_figures():
    found = combine_effects(*read_trials())
    # statsmodels 0.15.0, combine_effects(method_re="iterated", use_t=True); metafor prints .3181.
    assert found.tau**2 == pytest.approx(0.318068452, abs=1e-6)
    assert found.mean.value == pytest.approx(-0.714968153, abs=1e-6)
    assert found.error == pytest.approx(0.180892192, abs=1e-6)
    assert (found.mean.low, found.mean.high) == pytest.approx((-1.109098, -0.320838), abs=1e-5)
    assert found.excess == pytest.approx(0.9211734685, abs=1e-9)
    assert found.p < 1e-20


def test_equal_effects_have_no_spread_and_of_two_studies_nothing_is_foreseen():
    found = combine_effects([0.1] * 4, [0.01] * 4)
    assert (found.tau, found.excess) == (0.0, 0.0)
    assert found.p == pytest.approx(1.0)
    assert found.error == pytest.approx(0.05)  # that of independent estimates, 0.1 / √4
    assert foresee_effect([0.1, 0.2], [0.01, 0.01]) is None


@pytest.mark.parametrize(("effects", "variances"), [([0.1], [0.1]), ([0.1, 0.2], [0.1, 0.0])])
def test_what_cannot_be_combined_is_refused(effects, variances):
    with pytest.raises(ValueError, match="two studies are needed"):
        combine_effects(effects, variances)


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "studies"), [(0.1, 3), (0.02, 12)])
def test_intervals_hold_the_mean_and_the_effect_of_a_new_study(tau, studies):
    rng = np.random.default_rng(7)
    holds_mean, holds_new, trials = 0, 0, 300
    for _ in range(trials):
        variances = rng.uniform(0.0005, 0.004, studies)
        true = rng.normal(0.05, tau, studies + 1)
        effects = rng.normal(true[:-1], np.sqrt(variances))
        mean, new = combine_effects(effects, variances).mean, foresee_effect(effects, variances)
        holds_mean += mean.low <= 0.05 <= mean.high
        holds_new += new.low <= true[-1] <= new.high
    assert holds_mean / trials >= 0.93
    assert holds_new / trials >= 0.93


def test_an_estimate_of_a_new_study_may_lie_further_off_than_its_effect():
    effects, variances = read_trials()
    true, estimate = (foresee_effect(effects, variances, new) for new in (0.0, 0.1))
    assert estimate.low < true.low < true.value < true.high < estimate.high
    # Any prediction interval holds that of the mean; it is near that of Higgins, Thompson and
    # Spiegelhalter (2009): the mean ± 2.201 · √(0.3181 + 0.1809²).
    assert (true.low, true.high) == pytest.approx((-2.018, 0.588), abs=0.08)
