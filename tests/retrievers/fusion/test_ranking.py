"""The best of many scores: the same as of all of them in order, whatever ties."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.fusion import ranking
from assay.retrievers.fusion.ranking import DECIMALS, GROUPS, DeepList, best

DRAW = np.random.default_rng(11)
SIZES = (1, 7, 2 * GROUPS - 1, 2 * GROUPS, 2 * GROUPS + 1, 4096, 50_021)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("depth", [1, 10, 100, 60_000])
def test_the_best_are_the_head_of_all_in_order(size, depth):
    several = [
        DRAW.standard_normal(size),
        DRAW.standard_normal(size).astype(np.float32),
        DRAW.integers(0, 4, size).astype(np.float64),  # many ties, broken by position
        np.zeros(size),
        np.arange(size, dtype=np.float64),
        -np.arange(size, dtype=np.float64),
        np.where(np.arange(size) < depth, 1.0, 0.0),  # just as many as are wanted stand out
        np.where(np.arange(size) % (depth * GROUPS) == 0, 1.0, 0.0),  # all of them in one group
    ]
    for scores in several:
        order = np.argsort(-scores, kind="stable")[:depth]
        expected = list(zip(order.tolist(), scores[order].tolist(), strict=True))
        assert list(best(scores, depth)) == expected


def test_a_place_in_a_deep_list_is_found_without_sorting_it():
    scores = DRAW.integers(0, 40, 3000).astype(np.float64)
    allowed = np.flatnonzero(DRAW.random(6000) < 0.5)[:3000]
    found = best(np.repeat(scores, 2)[:6000], 1500, allowed)
    assert isinstance(found, DeepList)
    places = {position: place for place, (position, _) in enumerate(found)}
    for position in [*allowed.tolist(), -1, 6001]:
        assert found.find(position) == places.get(position)


# Sums that rounding makes equal, next to some that it keeps apart.
CLOSE = st.sampled_from([0.0, -1.0, 4e-10, 6e-10, 1.0, 1.0 + 4e-10, 1.0 + 6e-10, 1.0 - 4e-10, 2e9])
SCORES = st.lists(CLOSE | st.floats(-5, 50), max_size=30)


@given(SCORES, st.integers(1, 35), st.booleans())
def test_the_best_matches_are_those_of_a_full_sort_of_rounded_scores(scores, depth, sorted_late):
    rounded = np.round(np.array(scores), DECIMALS).tolist()
    order = sorted(range(len(scores)), key=lambda i: (-rounded[i], i))
    expected = [(i, rounded[i]) for i in order if rounded[i] > 0][:depth]
    with patch.object(ranking, "DEEP", 0 if sorted_late else 1_000):
        found = ranking.best_matches(np.array(scores), depth)
    if isinstance(found, DeepList):
        places = {i: found.find(i) for i in range(len(scores) + 1)}
        listed = {i: place for i, place in places.items() if place is not None}
        assert listed == {i: place for place, (i, _) in enumerate(expected)}
    assert list(found) == expected
