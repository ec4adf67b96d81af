"""Fusion against cases worked by hand, and its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrievers.fusion import LinearSettings, RrfSettings
from retrievers.normalisation import (
    normalise_deviations,
    normalise_l2,
    normalise_min_max,
    normalise_z_score,
)


def test_rrf_by_hand() -> None:
    legs = {"dense": [(0, 0.9), (1, 0.8), (2, 0.7)], "keyword": [(2, 12.0), (0, 3.0)]}
    fused = RrfSettings(k=60).fuse(legs)
    assert fused == [
        (0, pytest.approx(1 / 61 + 1 / 62)),
        (2, pytest.approx(1 / 63 + 1 / 61)),
        (1, pytest.approx(1 / 62)),
    ]


def test_rrf_weights_by_hand() -> None:
    legs = {"dense": [(0, 1.0)], "keyword": [(1, 1.0)]}
    fused = RrfSettings(k=0, weights={"keyword": 3.0}).fuse(legs)
    assert fused == [(1, 3.0), (0, 1.0)]


def test_ties_go_to_the_lower_position() -> None:
    assert RrfSettings().fuse({"a": [(5, 1.0)], "b": [(3, 1.0)]}) == [(3, 1 / 61), (5, 1 / 61)]


def test_linear_min_max_by_hand() -> None:
    legs = {"dense": [(0, 0.9), (1, 0.5)], "keyword": [(1, 10.0), (2, 5.0), (0, 0.0)]}
    fused = LinearSettings(type="linear", weights={"dense": 0.7, "keyword": 0.3}).fuse(legs)
    assert [position for position, _ in fused] == [0, 1, 2]
    assert [score for _, score in fused] == pytest.approx([0.7, 0.3, 0.15])


def test_z_score_by_hand() -> None:
    # Mean 2, population deviation sqrt(2/3).
    lifted = normalise_z_score([1.0, 2.0, 3.0], above="lowest")
    assert lifted == pytest.approx([0.0, 1.5**0.5, 6**0.5])
    assert normalise_z_score([1.0, 2.0, 3.0]) == pytest.approx([-(1.5**0.5), 0.0, 1.5**0.5])


def test_deviations_and_lengths_by_hand() -> None:
    # Mean 2, sample deviation 1.
    assert normalise_deviations([1.0, 2.0, 3.0]) == pytest.approx([1 / 3, 0.5, 2 / 3])
    assert normalise_deviations([7.0]) == [0.5]
    assert normalise_l2([3.0, 4.0]) == pytest.approx([0.6, 0.8])
    assert normalise_l2([0.0, 0.0]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("normalise", "equal"),
    [(normalise_min_max, 1.0), (normalise_z_score, 1.0), (normalise_deviations, 0.5)],
)
@pytest.mark.parametrize("score", [4.0, 0.1])
def test_equal_scores_and_none(normalise, equal: float, score: float) -> None:
    assert normalise([score] * 3) == [equal] * 3
    assert normalise([]) == []


ranked = st.lists(st.integers(0, 30), unique=True, max_size=15).map(
    lambda positions: [(position, float(-at)) for at, position in enumerate(positions)]
)
legs = st.dictionaries(st.sampled_from(["a", "b", "c"]), ranked, min_size=1)


@given(legs, st.sampled_from([RrfSettings(), LinearSettings(type="linear")]))
def test_fusion_keeps_every_candidate_once_and_orders_them(legs, fusion) -> None:
    fused = fusion.fuse(legs)
    assert {position for position, _ in fused} == {p for leg in legs.values() for p, _ in leg}
    assert len(fused) == len({position for position, _ in fused})
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(ranked)
def test_rrf_of_one_leg_keeps_its_order(leg) -> None:
    fused = RrfSettings().fuse({"a": leg})
    assert [position for position, _ in fused] == [position for position, _ in leg]


@given(ranked, ranked)
def test_rrf_does_not_depend_on_the_order_of_legs(one, other) -> None:
    forth, back = (
        RrfSettings().fuse({"a": one, "b": other}),
        RrfSettings().fuse({"b": other, "a": one}),
    )
    assert forth == back
