"""The fusions that engines state, against cases worked by hand."""

import pytest

from assay.retrievers.engines.formulas import ReciprocalRanks, sum_deviations, sum_scaled

DENSE = [(3, 0.9), (1, 0.8), (2, 0.5)]
KEYWORD = [(1, 7.0), (4, 3.0)]


def test_ranks_from_one():
    fused = ReciprocalRanks(k=60).fuse(DENSE, KEYWORD)
    assert dict(fused) == pytest.approx({1: 1 / 62 + 1 / 61, 3: 1 / 61, 4: 1 / 62, 2: 1 / 63})
    assert [position for position, _ in fused] == [1, 3, 4, 2]


def test_ranks_from_zero_are_those_of_a_smaller_k():
    zero, one = ReciprocalRanks(k=61, first=0), ReciprocalRanks(k=60)
    assert dict(zero.fuse(DENSE, KEYWORD)) == pytest.approx(dict(one.fuse(DENSE, KEYWORD)))


def test_weights():
    by_score = ReciprocalRanks(k=1, weights=(0.25, 2.0)).fuse(DENSE, KEYWORD)
    assert dict(by_score)[1] == pytest.approx(0.25 / 3 + 2 / 2)
    by_rank = ReciprocalRanks(k=1, first=0, weights=(2.0, 0.0), weigh="ranks").fuse(DENSE, KEYWORD)
    # The second of the dense list: 1 / (2 / 2 + 1 + 0 - 1); the other list adds nothing.
    assert dict(by_rank) == pytest.approx({3: 2.0, 1: 1.0, 2: 2 / 3})


def test_scaled_scores():
    fused = sum_scaled((0.7, 0.3)).fuse(DENSE, KEYWORD)
    assert dict(fused) == pytest.approx({3: 0.7, 1: 0.7 * 0.75 + 0.3, 2: 0.0, 4: 0.0})
    assert sum_scaled().fuse([], [(5, 2.0), (6, 2.0)]) == [(5, 0.5), (6, 0.5)]


def test_deviations():
    # Mean 5, sample deviation 2 sqrt 2: 3 deviations below and above are 0 and 1.
    fused = dict(sum_deviations().fuse([(0, 7.0), (1, 3.0)], [(1, 4.0)]))
    half = 2 / (6 * 8**0.5)
    assert fused == pytest.approx({0: 0.5 + half, 1: 0.5 - half + 0.5})


def test_statements_tell_the_numbers():
    assert "60" in ReciprocalRanks(k=60).statement
    assert "0.3" in sum_scaled((0.7, 0.3)).statement
    assert "rank / weight + 60" in ReciprocalRanks(61, 0, (2.0, 1.0), "ranks").statement
