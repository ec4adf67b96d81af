"""The power that is stated for drops, against how often the test finds them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import DropPower

LEVEL, MINIMUM, TRIALS = 0.01, 0.02, 200

Numbers = NDArray[np.float64]


def draw(seed: int, n: int, moved: float) -> tuple[Numbers, Numbers]:
    """Return scores and how they vary by chance alone, where a share of the cases moved."""
    rng = np.random.default_rng(seed)
    scores = rng.choice((0.0, 0.5, 1.0), n, p=(0.2, 0.2, 0.6))
    return scores, np.where(rng.random(n) < moved, rng.normal(0, 0.2, n), 0.0)


def foresee(scores: Numbers, differences: Numbers) -> DropPower:
    critical = randomise_drops(differences[:, None], LEVEL).critical
    return DropPower(scores, differences, critical, LEVEL, MINIMUM)


def is_found(differences: Numbers) -> bool:
    (p,) = randomise_drops(differences[:, None], LEVEL).p_values
    return p <= LEVEL and differences.mean() <= -MINIMUM


@pytest.mark.parametrize("moved", [0.1, 1.0])
def test_a_drop_is_found_as_often_as_stated_however_it_comes_about(moved: float) -> None:
    pilots = [foresee(*draw(seed, 60, moved)) for seed in range(20)]
    drop = float(np.median([pilot.find() for pilot in pilots]))
    spread_out, sparse = 0, 0
    for seed in range(20, 20 + TRIALS):
        scores, differences = draw(seed, 60, moved)
        lost = np.random.default_rng((1, seed)).random(60) < drop / 0.7
        spread_out += is_found(differences - drop)
        sparse += is_found(np.where(lost, -scores, differences))
    error = np.sqrt(0.8 * 0.2 / TRIALS)
    assert spread_out / TRIALS >= 0.8 - 3 * error
    assert sparse / TRIALS >= 0.8 - 3 * error


def test_a_small_sparse_drop_is_not_stated_to_be_found() -> None:
    """Two losses of sixty are never shown, however little else moves."""
    power = foresee(*draw(3, 60, 0.1))
    drop = 2 / 60
    assert power.state_spread(drop) > 0.4
    assert power.state(drop) == power.state_sparse(drop) < 0.05


def test_the_drop_found_has_the_power() -> None:
    power = foresee(*draw(5, 60, 0.3))
    drop = power.find()
    assert drop is not None
    assert power.state(drop) == pytest.approx(0.8, abs=0.02)
    assert power.state(drop / 2) < 0.5


def test_where_no_drop_can_be_found() -> None:
    """Four losses are likely by chance; who scores 0 can lose nothing."""
    assert DropPower(np.ones(4), np.zeros(4), 2.5, LEVEL, MINIMUM).find() is None
    assert DropPower(np.zeros(60), np.zeros(60), 2.5, LEVEL, MINIMUM).find() is None


def test_a_pipeline_that_did_not_change_still_finds_losses() -> None:
    """Of 60 losses seven or more are needed at a level of .01: 2^-7 is below it."""
    power = DropPower(np.ones(60), np.zeros(60), 2.5, LEVEL, MINIMUM)
    assert power.state_sparse(6 / 60) < power.state_sparse(10 / 60)
    found = power.find()
    assert found is not None
    assert 8 / 60 < found < 11 / 60
