"""Intervals against SciPy, against what is known of them, and by how often they hold the truth."""

import numpy as np
import pytest
import scipy

from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.statistics import estimates
from assay.eval.statistics.estimates import (
    SHARE,
    Estimate,
    OpenEstimate,
    estimate_mean,
    estimate_percentile,
)


def test_means_and_shares_have_scipys_intervals():
    sample = np.random.default_rng(1).beta(0.5, 0.5, 60)
    estimate = estimate_mean(list(sample))
    expected = scipy.stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert estimate.value == pytest.approx(sample.mean())
    assert estimate.n == 60
    estimate = estimate_mean([1.0] * 19 + [0.0], SHARE)
    expected = scipy.stats.binomtest(19, 20).proportion_ci(0.95, "exact")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert estimate_mean([1.0] * 20, SHARE).low < 0.85
    assert estimate_changes("Hit@1", [0.0] * 20).high == 0


def test_equal_values_have_no_width_and_none_is_an_error():
    estimate = estimate_mean([0.7] * 10)
    assert estimate.low == estimate.value == estimate.high == pytest.approx(0.7)
    for estimator in (estimate_mean, lambda sample: estimate_percentile(sample, 50)):
        with pytest.raises(ValueError, match="at least one"):
            estimator([])


def test_an_interval_keeps_to_the_range_of_its_measure():
    nearly = [1.0] * 11 + [0.4]
    assert estimate_mean(nearly).high > 1
    assert estimate_scores("nDCG@10", nearly).high == 1
    counts = [0.0, 0.0, 40.0]
    assert estimate_scores("Tokens@10", counts).low == 0
    assert estimate_scores("Tokens@10", counts).high > 40
    assert estimate_changes("nDCG@10", [1.0, -0.9]).low == -1
    single = estimate_scores("nDCG@10", [0.3])
    assert (single.low, single.value, single.high) == (0, 0.3, 1)


@pytest.mark.parametrize("percent", [50, 95, 99])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 20, 71, 72, 100, 367, 368, 500])
def test_percentiles_have_scipys_ends(percent, n):
    sample = np.random.default_rng(n).lognormal(size=n)
    estimate = estimate_percentile(sample.tolist(), percent)
    assert estimate.value == pytest.approx(np.percentile(sample, percent))
    expected = scipy.stats.quantile_test(sample, p=percent / 100).confidence_interval(0.95)
    for end, wanted in ((estimate.low, expected.low), (estimate.high, expected.high)):
        assert end is None if np.isnan(wanted) else end == wanted
    assert isinstance(estimate, Estimate) == (None not in (estimate.low, estimate.high))


def test_where_there_is_no_end():
    """Even the largest value lies below p95 with a chance of .95^n; that is to be .025."""
    assert scipy.stats.binom.pmf(71, 71, 0.95) > 0.025 >= scipy.stats.binom.pmf(72, 72, 0.95)
    assert estimate_percentile(list(range(71)), 95).high is None
    assert estimate_percentile(list(range(72)), 95).high == 71
    assert estimate_percentile([3.0], 50) == OpenEstimate(3.0, None, None, 1)


def draw_lognormal(rng, shape):
    return np.exp(rng.normal(0, 1, shape))


def draw_humps(rng, shape):
    """Nine of ten near 2 ms, as by a cache; the others near 20 ms."""
    slow = rng.random(shape) < 0.1
    return np.where(slow, rng.normal(20, 3, shape), rng.normal(2, 0.2, shape))


def humps_quantile(share):
    i = np.linspace(0, 40, 400_001)
    below = 0.9 * scipy.stats.norm.cdf(i, 2, 0.2) + 0.1 * scipy.stats.norm.cdf(i, 20, 3)
    return float(i[np.searchsorted(below, share)])


SHAPES = {
    "lognormal": (draw_lognormal, lambda share: float(scipy.stats.lognorm.ppf(share, 1))),
    "humps": (draw_humps, humps_quantile),
}
TRIALS = 400


def count_least():
    """Of intervals that hold the truth with a chance of .95 fewer do once in 10,000 simulations."""
    return float(scipy.stats.binom.ppf(1e-4, TRIALS, 0.95))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [20, 60, 100, 500])
@pytest.mark.parametrize("percent", [50, 95, 99])
def test_intervals_of_percentiles_hold_the_truth(shape, n, percent):
    draw, quantile = SHAPES[shape]
    truth = quantile(percent / 100)
    rng = np.random.default_rng((n, percent))
    samples = draw(rng, (TRIALS, n))
    found = [estimate_percentile(sample, percent) for sample in samples.tolist()]
    held = sum(
        (i.low is None or i.low <= truth) and (i.high is None or truth <= i.high) for i in found
    )
    assert held >= count_least()


def hold(samples, truth):
    found = [estimate_mean(sample, SHARE) for sample in samples.tolist()]
    return sum(i.low <= truth <= i.high for i in found)


def test_means_of_few_scores_hold_the_truth():
    """Scores as rankings have them: many 0, many 1, the rest between; the bootstrap holds fewer."""
    rng = np.random.default_rng(4)
    scores = np.array([0.0] * 5 + [1.0] * 9 + [0.2, 0.25, 0.4, 0.5, 0.63, 0.7])
    samples = rng.choice(scores, (1000, 20))
    means = samples[:, rng.integers(20, size=(400, 20))].mean(axis=2)
    low, high = np.percentile(means, (2.5, 97.5), axis=1)
    by_bootstrap = np.count_nonzero((low <= scores.mean()) & (scores.mean() <= high))
    assert hold(samples, float(scores.mean())) >= 0.94 * len(samples) > by_bootstrap


@pytest.mark.parametrize("n", [2, 5, 40])
def test_the_bootstrap_is_scipys_to_the_bit(n):
    from scipy.stats import bootstrap

    draw = np.random.default_rng(n)
    base = draw.exponential(size=n)
    other = base * draw.uniform(0.5, 2, size=n)
    found = estimates.estimate_percentile_ratio(base.tolist(), other.tolist(), 95)
    expected = bootstrap(
        (base, other),
        lambda a, b, axis: np.percentile(b, 95, axis=axis) / np.percentile(a, 95, axis=axis),
        n_resamples=estimates.RESAMPLES,
        batch=estimates.BATCH,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(estimates.SEED),
    ).confidence_interval
    assert (found.low, found.high) == (expected.low, expected.high)
