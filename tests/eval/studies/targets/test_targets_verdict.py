"""The rule of the verdict, at its borders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.targets.limits import Limits, conclude


def estimate(low, high):
    return Estimate((low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("limits", "low", "high", "verdict"),
    [
        (Limits(at_least=0.9), 0.91, 0.95, "met"),
        (Limits(at_least=0.9), 0.9, 0.95, "met"),
        (Limits(at_least=0.9), 0.89, 0.95, "cannot tell"),
        (Limits(at_least=0.9), 0.8, 0.9, "cannot tell"),
        (Limits(at_least=0.9), 0.8, 0.899, "missed"),
        (Limits(more_than=0), 0.0, 0.1, "cannot tell"),
        (Limits(more_than=0), 0.001, 0.1, "met"),
        (Limits(more_than=0), -0.1, 0.0, "missed"),
        (Limits(less_than=100), 90, 100, "cannot tell"),
        (Limits(at_least=0.1, at_most=0.4), 0.15, 0.35, "met"),
        (Limits(at_least=0.1, at_most=0.4), 0.05, 0.45, "cannot tell"),
        (Limits(at_least=0.1, at_most=0.4), 0.01, 0.09, "missed"),
        (Limits(at_least=0.1, at_most=0.4), 0.41, 0.5, "missed"),
        (Limits(at_most=100), 4.0, None, "cannot tell"),
        (Limits(at_most=3), 4.0, None, "missed"),
        (Limits(at_least=4), 4.0, None, "met"),
        (Limits(at_least=-4), None, None, "cannot tell"),
    ],
)
def test_the_whole_interval_decides(limits, low, high, verdict):
    assert limits.judge(OpenEstimate(5.0, low, high, 20)) == verdict


@pytest.mark.parametrize(
    ("limits", "value", "level"),
    [
        (Limits(at_most=500, alert=600, page=1000), 600, None),
        (Limits(at_most=500, alert=600, page=1000), 601, "alert"),
        (Limits(at_most=500, alert=600, page=1000), 1001, "page"),
        (Limits(at_most=500, page=1000), 700, None),
        (Limits(at_least=1, alert=0.9, page=0.8), 0.85, "alert"),
        (Limits(more_than=1, alert=0.9, page=0.8), 0.7, "page"),
        (Limits(), 1e9, None),
    ],
)
def test_a_value_alone_reaches_a_level(limits, value, level):
    assert limits.reach(value) == level


@given(
    limit=st.floats(-1, 1),
    bounds=st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted),
    strict=st.booleans(),
)
def test_turning_the_sign_of_everything_changes_no_verdict(limit, bounds, strict):
    low, high = bounds
    lower = Limits(more_than=limit) if strict else Limits(at_least=limit)
    upper = Limits(less_than=-limit) if strict else Limits(at_most=-limit)
    assert lower.judge(estimate(low, high)) == upper.judge(estimate(-high, -low))


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["met", "met"], "met"),
        (["met", "cannot tell", "missed", "not measurable yet"], "missed"),
        (["met", "not measurable yet", "cannot tell"], "cannot tell"),
        (["met", "not measurable yet"], "not measurable yet"),
    ],
)
def test_a_whole_is_met_when_every_part_is(parts, whole):
    assert conclude(parts) == whole
