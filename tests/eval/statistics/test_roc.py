"""Areas under ROC curves, against SciPy's Mann-Whitney and by hand."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.statistics.roc import estimate_auc, fit_threshold, trace_curve

SCORES = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 2.0]), min_size=1, max_size=15)


@given(positives=SCORES, negatives=SCORES)
def test_the_area_is_the_statistic_of_mann_and_whitney(positives, negatives):
    wanted = (
        scipy.stats.mannwhitneyu(positives, negatives).statistic / len(positives) / len(negatives)
    )
    assert estimate_auc(positives, negatives).value == pytest.approx(wanted)


@given(positives=SCORES, negatives=SCORES)
def test_the_area_is_that_below_the_curve(positives, negatives):
    points = trace_curve(positives, negatives)
    right = [1 - i.negatives_below for i in points][::-1]
    up = [1 - i.positives_below for i in points][::-1]
    assert np.trapezoid(up, right) == pytest.approx(estimate_auc(positives, negatives).value)
    assert (right[0], up[0], right[-1], up[-1]) == (0, 0, 1, 1)


def test_the_interval_is_that_of_scipys_bootstrap():
    generator = np.random.default_rng(1)
    positives, negatives = generator.normal(1, 1, 60), generator.normal(0, 1, 25)

    def area(one, other, axis=-1):
        return (one[..., :, None] > other[..., None, :]).mean(axis=(-2, -1))

    wanted = scipy.stats.bootstrap(
        (positives, negatives), area, method="percentile", n_resamples=4000,
        rng=np.random.default_rng(2), batch=500,
    ).confidence_interval  # fmt: skip
    found = estimate_auc(positives.tolist(), negatives.tolist())
    assert (found.value, found.n) == (pytest.approx(area(positives, negatives)), 85)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.01)


def test_curves_by_hand():
    points = trace_curve([0.9, 0.4], [0.4, 0.1])
    assert [(i.threshold, i.positives_below, i.negatives_below) for i in points] == [
        (0.1, 0, 0),
        (0.4, 0, 0.5),
        (0.9, 0.5, 1),
        (math.inf, 1, 1),
    ]
    assert estimate_auc([0.9, 0.4], [0.4, 0.1]).value == 3.5 / 4
    found = estimate_auc([2, 3], [0, 1])
    assert (found.value, found.low, found.high) == (1, 1, 1)
    assert fit_threshold(range(100), 0.05) == 5
    assert fit_threshold(range(100), 0.0) == 0
    assert fit_threshold(range(100), 0.29) == 29


@given(positives=SCORES, share=st.floats(0, 0.999))
def test_the_threshold_is_the_highest_that_loses_no_more(positives, share):
    fitted = fit_threshold(positives, share)
    allowed = share * len(positives) + 1e-6
    assert sum(score < fitted for score in positives) <= allowed
    higher = sorted(score for score in set(positives) if score > fitted)
    if higher:
        assert sum(score < higher[0] for score in positives) > share * len(positives) - 1e-6
