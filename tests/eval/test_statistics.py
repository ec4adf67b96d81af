"""Intervals against SciPy and against what is known of them."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from eval.statistics.estimates import RESAMPLES, SEED, estimate_mean, estimate_percentile


def test_mean_equals_scipy() -> None:
    sample = np.random.default_rng(1).beta(0.5, 0.5, 60)
    estimate = estimate_mean(list(sample))
    expected = bootstrap(
        (sample,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=1000,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    assert (estimate.low, estimate.high) == (expected.low, expected.high)
    assert estimate.value == pytest.approx(sample.mean())
    assert estimate.n == 60


def test_interval_is_near_the_normal_one() -> None:
    sample = np.random.default_rng(2).normal(0.5, 0.1, 400)
    estimate = estimate_mean(list(sample))
    half = 1.96 * sample.std(ddof=1) / 20
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.05)


def test_percentile_and_the_same_again() -> None:
    sample = list(range(1, 101))
    estimate = estimate_percentile(sample, 95)
    assert estimate.value == pytest.approx(95.05)
    assert estimate.low < 95.05 <= estimate.high
    assert estimate == estimate_percentile(sample, 95)


def test_equal_values_have_no_width_and_none_is_an_error() -> None:
    estimate = estimate_mean([1.0] * 10)
    assert (estimate.low, estimate.value, estimate.high) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="at least one"):
        estimate_mean([])
