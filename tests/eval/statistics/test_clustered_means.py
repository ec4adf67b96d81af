"""Means, shares, ratios and drops of cases in groups: they hold for other groups."""

import numpy as np
import pytest
import scipy

from assay.eval.statistics.estimates import (
    SHARE,
    estimate_mean,
    estimate_mean_ratio,
    estimate_share,
)
from assay.eval.statistics.groups import (
    Clusters,
    bound_sums,
    estimate_clustered_mean,
    estimate_clustered_ratio,
)
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import foresee_drops
from assay.eval.statistics.prediction_powered import estimate_powered_mean
from assay.eval.statistics.sampling import estimate_weighted_mean

UNEVEN = np.repeat(np.arange(30), [1, 2, 3, 4, 8, 12] * 5)
SINGLE = Clusters(np.arange(len(UNEVEN)))


def draw(rng, correlation=0.5):
    """Return values of mean 0 and variance 1 that correlate so within the groups of `UNEVEN`."""
    common = rng.normal(size=30)[UNEVEN] * np.sqrt(correlation)
    return np.asarray(common + rng.normal(size=len(UNEVEN)) * np.sqrt(1 - correlation))


def holds(found, true):
    return found.low <= true <= found.high


def test_with_a_case_in_each_group_all_is_as_without_groups():
    values = draw(np.random.default_rng(1))
    binary = (values > 0).astype(float)
    others = np.abs(values) + 1
    weights = [np.ones(len(values)), np.zeros(len(values), dtype=int), [10**6]]
    assert estimate_clustered_mean(values, SINGLE) == estimate_mean(values)
    assert estimate_clustered_mean(binary, SINGLE, SHARE) == estimate_mean(binary, SHARE)
    assert estimate_clustered_mean(values, None) == estimate_mean(values)
    assert estimate_clustered_ratio(others, others + 1, SINGLE) == estimate_mean_ratio(
        others, others + 1
    )
    weighted = [estimate_weighted_mean(values, *weights, clusters=one) for one in (None, SINGLE)]
    assert weighted[0] == weighted[1]
    table = values[:, None] - 0.1
    assert randomise_drops(table, 0.01, SINGLE) == randomise_drops(table, 0.01)
    drops = [foresee_drops(others[:, None], table, 0.05, [0.02], one) for one in (None, SINGLE)]
    assert drops[0] == drops[1]


def test_equal_groups_have_students_interval_of_their_means():
    values = np.random.default_rng(2).normal(size=12)[np.repeat(np.arange(12), 5)]
    values = values + np.tile([-0.1, 0, 0, 0, 0.1], 12)
    means = values.reshape(12, 5).mean(axis=1)
    groups = np.repeat(np.arange(12), 5)
    found = estimate_clustered_mean(values, Clusters(groups))
    low, high = scipy.stats.t.interval(0.95, 11, means.mean(), means.std(ddof=1) / np.sqrt(12))
    assert (found.low, found.high) == pytest.approx((low, high))
    half = bound_sums((values - values.mean()) / 60, np.full(60, 1 / 60), groups)
    assert half == pytest.approx((high - low) / 2)


@pytest.mark.slow
def test_intervals_hold_for_other_groups():
    """By case they hold in far fewer of the samples."""
    rng = np.random.default_rng(3)
    clusters, trials = Clusters(UNEVEN), 400
    counts = np.zeros((4, 2))
    for _ in range(trials):
        values = draw(rng)
        binary = (values > 0).astype(float)
        base, other = np.exp(draw(rng, 0.5) / 4), np.exp(draw(rng, 0.5) / 4)
        weights = [np.ones(len(values)), np.zeros(len(values), dtype=int), [10**6]]
        counts += [
            [holds(estimate_clustered_mean(values, one), 0) for one in (None, clusters)],
            [holds(estimate_clustered_mean(binary, one, SHARE), 0.5) for one in (None, clusters)],
            [
                holds(estimate_weighted_mean(values, *weights, clusters=one), 0)
                for one in (None, clusters)
            ],
            [
                holds(estimate_powered_mean(values[:60], values[:60], values[60:], clusters=one), 0)
                for one in (None, clusters)
            ],
        ]
        assert estimate_clustered_ratio(base[:9], other[:9], Clusters(UNEVEN[:9])).low <= (
            estimate_mean_ratio(base[:9], other[:9]).low
        )
    by_case, by_group = counts.T / trials
    assert max(by_case) < 0.8
    assert min(by_group) > 0.92


def test_of_all_groups_that_there_are_only_cases_are_left_to_chance():
    values = draw(np.random.default_rng(4))
    widths = []
    for share in (0.0, 0.5, 0.9, 1.0):
        found = estimate_clustered_mean(values, Clusters(UNEVEN, share))
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    assert estimate_clustered_mean(values, Clusters(UNEVEN, 1.0)) == estimate_mean(values)


def test_equal_values_of_0_or_1_prove_less_than_as_many_independent_ones():
    found = estimate_clustered_mean([1.0] * len(UNEVEN), Clusters(UNEVEN), SHARE)
    assert found.value == found.high == 1
    assert found.low < estimate_share(len(UNEVEN), len(UNEVEN)).low
    assert found.low > estimate_share(30, 30).low
    whole = estimate_clustered_mean([1.0, 0.0], Clusters(np.array([0, 0])), SHARE)
    assert (whole.low, whole.high) == (0, 1), "nothing tells how one group varies"


def test_drops_are_tested_by_group():
    """One of thirty groups lost everything: by case that is a proof, by group it is none."""
    differences = np.where(UNEVEN == 5, -0.8, 0.01)[:, None]
    (by_case,) = randomise_drops(differences, 0.01).p_values
    (by_group,) = randomise_drops(differences, 0.01, Clusters(UNEVEN)).p_values
    sums = np.bincount(UNEVEN, differences[:, 0])[:, None]
    assert by_group == pytest.approx(randomise_drops(sums, 0.01).p_values[0], abs=0.01)
    assert by_case < 0.01 < 0.3 < by_group
    scores = np.full((len(UNEVEN), 1), 0.6)
    (wide,) = foresee_drops(scores, differences, 0.05, [0.02], Clusters(UNEVEN))
    (narrow,) = foresee_drops(scores, differences, 0.05, [0.02])
    assert wide.spread.find() is None or wide.spread.find() > (narrow.spread.find() or 0)
