"""The simulation of climbs: its samples, its test, and what it shows of each method."""

import numpy as np
import pytest

from assay.eval.statistics.significance import ALPHA, randomise
from benchmarks import adaptive
from benchmarks.adaptive import (
    Kind,
    Population,
    climb,
    draw_part,
    judge,
    judge_naively,
    make_population,
)


@pytest.fixture(scope="module")
def population():
    """Differences of six pipelines that correlate, on 60 documents."""
    rng = np.random.default_rng(3)
    numbers = np.sort(np.concatenate([np.arange(60), rng.integers(60, size=100)]))
    values = rng.normal(scale=0.15, size=(160, 6)) + rng.normal(scale=0.1, size=(160, 1))
    return make_population(values - values.mean(axis=0), numbers)


def test_nothing_differs_but_by_the_gain(population):
    assert population.sums.sum(axis=0)[:-1] == pytest.approx(0, abs=1e-9)
    assert population.sums.sum(axis=0)[-1] == pytest.approx(160 * adaptive.GAIN)


def test_the_test_is_that_of_the_product():
    rng = np.random.default_rng(4)
    numbers = np.repeat(np.arange(30), 3)
    values = rng.normal(0.02, 0.1, size=(90, 2))
    population = make_population(values, numbers)
    every = Population(population.sums, population.squares, population.sizes)
    part = draw_part(every, 1, 90, np.random.default_rng(5), tested=True)
    # The documents that were drawn, one after another.
    chosen = np.random.default_rng(5).integers(30, size=(1, 30))[0]
    mixture = np.array([0.7, -0.2, 0.0])
    differences = np.concatenate([values[numbers == i] @ mixture[:2] for i in chosen])
    drawn = np.repeat(np.arange(30), 3)
    expected = randomise(np.bincount(drawn, differences).tolist())
    assert part.test(mixture[None])[0] == pytest.approx(expected, abs=0.02)
    mean, error = part.estimate(mixture[None])
    assert mean[0] == pytest.approx(differences.mean())
    assert error[0] == pytest.approx(differences.std() / np.sqrt(90))


@pytest.mark.slow
def test_who_believes_each_look_errs_and_the_ledger_does_not(population):
    seen = climb(population, 100, 300, Kind(by_figures=True))
    assert judge_naively(seen).any(axis=1).mean() > 0.2
    without = climb(population, 100, 300, Kind())
    assert judge_naively(without).any(axis=1).mean() > 1.5 * ALPHA
    assert judge(without).any(axis=1).mean() <= 2 * ALPHA
    assert adaptive.count_spent(without) < 10
