"""The power that is stated for drops, against how often the test finds them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import PowerCurve, foresee_drops

LEVEL, MINIMUM, TRIALS = 0.01, 0.02, 200

Numbers = NDArray[np.float64]


def draw(seed, n, moved):
    """Return scores and how they vary by chance alone, where a share of the cases moved."""
    rng = np.random.default_rng(seed)
    scores = rng.choice((0.0, 0.5, 1.0), n, p=(0.2, 0.2, 0.6))
    return scores, np.where(rng.random(n) < moved, rng.normal(0, 0.2, n), 0.0)


def foresee(scores, differences):
    (power,) = foresee_drops(scores[:, None], differences[:, None], LEVEL, [MINIMUM])
    return power


def is_found(differences):
    (p,) = randomise_drops(differences[:, None], LEVEL).p_values
    return p <= LEVEL and differences.mean() <= -MINIMUM


@pytest.mark.parametrize("moved", [0.0, 0.3, 1.0])
def test_drops_are_found_as_often_as_stated(moved):
    """Neither less often nor more, of either kind, but for what so few trials leave open."""
    pilots = [foresee(*draw(seed, 60, moved)) for seed in range(10)]
    spread_drop = float(np.mean([pilot.spread.find() for pilot in pilots]))
    sparse_drop = float(np.mean([pilot.sparse.find() for pilot in pilots]))
    spread_out, sparse = 0, 0
    for seed in range(20, 20 + TRIALS):
        scores, differences = draw(seed, 60, moved)
        lost = np.random.default_rng((1, seed)).random(60) < sparse_drop / 0.7
        spread_out += is_found(differences - 1.001 * spread_drop)
        sparse += is_found(np.where(lost, -scores, differences))
    if moved:  # else nothing varies, and any drop of the minimum is found
        assert spread_out / TRIALS == pytest.approx(0.8, abs=0.12)
    else:
        assert spread_drop == pytest.approx(MINIMUM, abs=1e-6)
        assert spread_out == TRIALS
    assert sparse / TRIALS == pytest.approx(0.8, abs=0.12)


def test_drops_that_are_found_and_those_that_cannot_be():
    # Two losses of sixty are never shown, however little else moves.
    power = foresee(*draw(3, 60, 0.1))
    drop = 2 / 60
    assert power.spread.find() < 2 * drop < power.sparse.find() == power.find()
    # Four losses are likely by chance; who scores 0 can lose nothing; one case shows nothing.
    for scores in (np.ones(4), np.zeros(60), np.ones(1)):
        assert foresee(scores, np.zeros(len(scores))).find() is None
    # Of 60 losses seven or more are needed at a level of .01: 2^-7 is below it. By the binomial
    # distribution 8.8 of 60 must lose everything for seven with a chance of .8.
    power = foresee(np.ones(60), np.zeros(60))
    assert power.sparse.find() == pytest.approx(8.8 / 60, abs=0.01)


def test_measures_are_tested_together():
    """A measure beside another that moves by itself is found less often than alone."""
    scores, differences = draw(7, 60, 1.0)
    other = draw(8, 60, 1.0)[1]
    alone = foresee(scores, differences).spread.find()
    both = np.column_stack([differences, other])
    beside = foresee_drops(np.column_stack([scores, scores]), both, LEVEL, [MINIMUM, MINIMUM])
    found = beside[0].spread.find()
    assert alone is not None
    assert found is not None
    assert found > 1.02 * alone


def test_a_curve_is_read_between_its_points():
    curve = PowerCurve((0.1, 0.2), (0.5, 0.975), floor=0.05, ceiling=1.0)
    standard_scores = 0.8416 / 1.96  # of .8 and .975; that of .5 is 0
    assert curve.find() == pytest.approx(0.1 + 0.1 * standard_scores, abs=0.001)
    assert PowerCurve((0.1, 0.2), (0.5, 0.7), 0.05, 1.0).find() is None
    assert PowerCurve((0.1, 0.2), (0.5, 0.975), 0.18, 1.0).find() == 0.18
