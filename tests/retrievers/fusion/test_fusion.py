"""Fusion against cases worked by hand, and its properties."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tools.recording_progress import RecordingProgress

from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.fusion.fusion import LinearSettings, RrfSettings
from assay.retrievers.fusion.normalisation import (
    measure_confidence,
    normalise_between,
    normalise_deviations,
    normalise_l2,
    normalise_min_max,
    normalise_z_score,
)
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


def linear(**settings):
    return LinearSettings(type="linear", **settings)


def fuse_linearly(legs, **settings):
    """Return {position: score}."""
    return dict(linear(**settings).fuse(legs))


# Dense: mean 2, deviation sqrt(1.6), lead 2. Keyword: mean 6, deviation 2, lead 2. So dense has
# sqrt(2.5) of sqrt(2.5) + 1 parts of the weight, which is 2 in all.
W = 2 * 2.5**0.5 / (2.5**0.5 + 1)
SURE = [(0, 4.0), (1, 2.0), (2, 2.0), (3, 2.0), (4, 0.0)]


@pytest.mark.parametrize(
    ("fusion", "dense", "keyword", "expected"),
    [
        (RrfSettings(k=60), [(0, 0.9), (1, 0.8), (2, 0.7)], [(2, 12.0), (0, 3.0)],
         {0: 1 / 61 + 1 / 62, 2: 1 / 63 + 1 / 61, 1: 1 / 62}),
        (RrfSettings(k=0, weights={"keyword": 3.0}), [(0, 1.0)], [(1, 1.0)], {1: 3.0, 0: 1.0}),
        (RrfSettings(), [(5, 1.0)], [(3, 1.0)], {3: 1 / 61, 5: 1 / 61}),
        (linear(weights={"dense": 0.7, "keyword": 0.3}),
         [(0, 0.9), (1, 0.5)], [(1, 10.0), (2, 5.0), (0, 0.0)], {0: 0.7, 1: 0.3, 2: 0.15}),
        # Mean 2, deviation sqrt(2/3): the best is sqrt(6) above the worst, the other half of it;
        # what a list lacks has its lowest.
        (linear(normalisation="z-score"),
         [(0, 3.0), (1, 2.0), (2, 1.0)], [(3, 30.0), (1, 20.0), (0, 10.0)],
         {0: 6**0.5, 1: 6**0.5, 3: 6**0.5, 2: 0.0}),
        # Mean 2 and 20, sample deviation 1 and 10.
        (linear(normalisation="dbsf"),
         [(0, 3.0), (1, 2.0), (2, 1.0)], [(1, 30.0), (3, 20.0), (0, 10.0)],
         {0: 2 / 3 + 1 / 3, 1: 1 / 2 + 2 / 3, 2: 1 / 3, 3: 1 / 2}),
        # Cosines run from -1: 0.6 is 1, and 0.2 three quarters of the way. BM25 runs from 0.
        (linear(normalisation="theoretical", floors={"dense": -1.0}),
         [(0, 0.6), (1, 0.2)], [(1, 10.0), (2, 5.0)], {0: 1.0, 1: 1.2 / 1.6 + 1.0, 2: 0.5}),
        (linear(confidence=True), SURE, [(5, 8.0), (0, 4.0)],
         {0: W, 1: W / 2, 2: W / 2, 3: W / 2, 4: 0.0, 5: 2 - W}),
    ],
)  # fmt: skip
def test_fusion_by_hand(fusion, dense, keyword, expected):
    fused = fusion.fuse({"dense": dense, "keyword": keyword})
    assert dict(fused) == pytest.approx(expected)
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize(
    ("normalise", "scores", "expected"),
    [
        (partial(normalise_between, floor=0.0), [0.0, 0.0], [1.0, 1.0]),
        (partial(normalise_between, floor=0.0), [], []),
        (partial(normalise_between, floor=-1.0), [3.0, 1.0], [1.0, 0.5]),
        # Mean 2, population deviation sqrt(2/3).
        (normalise_z_score, [1.0, 2.0, 3.0], [-(1.5**0.5), 0.0, 1.5**0.5]),
        (partial(normalise_z_score, above="lowest"), [1.0, 2.0, 3.0], [0.0, 1.5**0.5, 6**0.5]),
        # Mean 2, sample deviation 1.
        (normalise_deviations, [1.0, 2.0, 3.0], [1 / 3, 0.5, 2 / 3]),
        (normalise_deviations, [7.0], [0.5]),
        (normalise_l2, [3.0, 4.0], [0.6, 0.8]),
        (normalise_l2, [0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_normalisation_by_hand(normalise, scores, expected):
    assert normalise(scores) == pytest.approx(expected)


def test_confidence_without_a_lead():
    assert measure_confidence([0.1] * 3) == 1.0
    assert measure_confidence([0.1] * 20 + [0.0]) == pytest.approx(0.0)
    assert measure_confidence([0.1] * 20 + [0.0]) >= 0
    # Where no leg's best stands out, the weights are as given.
    flat = [(i, 0.5) for i in range(20)] + [(20, 0.0)]
    assert fuse_linearly({"a": flat, "b": []}, confidence=True)[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("normalise", "equal"),
    [(normalise_min_max, 1.0), (normalise_z_score, 1.0), (normalise_deviations, 0.5)],
)
@pytest.mark.parametrize("score", [4.0, 0.1])
def test_equal_scores_and_none(normalise, equal, score):
    assert normalise([score] * 3) == [equal] * 3
    assert normalise([]) == []


ranked = st.lists(st.integers(0, 30), unique=True, max_size=15).map(
    lambda positions: [(position, float(-i)) for i, position in enumerate(positions)]
)
legs = st.dictionaries(st.sampled_from(["a", "b", "c"]), ranked, min_size=1)


LINEAR = [
    LinearSettings(type="linear", normalisation=normalisation, confidence=confidence)
    for normalisation in ("min-max", "z-score", "dbsf", "theoretical")
    for confidence in (False, True)
]


@given(legs, st.sampled_from([RrfSettings(), *LINEAR]))
def test_fusion_keeps_every_candidate_once_and_orders_them(legs, fusion):
    fused = fusion.fuse(legs)
    assert {position for position, _ in fused} == {p for leg in legs.values() for p, _ in leg}
    assert len(fused) == len({position for position, _ in fused})
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(ranked, st.sampled_from(LINEAR))
def test_linear_fusion_of_one_leg_keeps_its_order(leg, fusion):
    scores = dict(fusion.fuse({"a": leg}))
    fused = [scores[position] for position, _ in leg]
    assert fused == sorted(fused, reverse=True)


@given(ranked, ranked, st.sampled_from(LINEAR), st.floats(0.1, 10), st.floats(-5, 5))
def test_linear_fusion_does_not_depend_on_the_units_of_a_leg(one, other, fusion, scale, shift):
    """But for theoretical, whose floor is in the leg's own unit."""
    if fusion.normalisation == "theoretical":
        shift = 0.0
        one = [(position, score + 20) for position, score in one]
    moved = [(position, scale * score + shift) for position, score in one]
    before = dict(fusion.fuse({"a": one, "b": other}))
    after = dict(fusion.fuse({"a": moved, "b": other}))
    assert after == pytest.approx(before, abs=1e-6)


@given(legs, st.sampled_from(LINEAR))
def test_confidence_moves_weight_and_adds_none(legs, fusion):
    """Where every leg's first is one chunk, that chunk scores as without."""
    found = {name: [(99, 1.0), *leg] for name, leg in legs.items()}
    if fusion.normalisation not in ("min-max", "theoretical"):
        return
    top = fusion.fuse(found)[0]
    assert top == (99, pytest.approx(fusion.top(found)))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({}, ""),
        ({"a": 2.0}, ""),
        ({"a": 1.0, "b": 1.0}, ""),
        ({"a": 0.7, "b": 0.3}, ""),
        ({"a": 0.333, "b": 0.666}, ""),
        ({"a": 0.7, "b": 0.4}, "add up to 1.1, and"),
        ({"a": 3.0, "b": 0.4}, "add up to 3.4, and"),
        ({"a": 0.7}, "add up to 1.7, that of b being 1"),
    ],
)
def test_weights_that_are_shares_add_up_to_one(weights, words, tmp_path):
    heard = RecordingProgress()
    legs = {"a": {"type": "bm25"}, "b": {"type": "exact"}}
    values = {"legs": legs, "fusion": {"type": "rrf", "weights": weights}}
    settings = PipelineSettings.model_validate(values)
    settings.build(DocumentSettings(), Resources(Cache(tmp_path), heard))
    assert [words in line for line in heard.lines] == [True] * bool(words)
    alone = PipelineSettings.model_validate({**values, "mode": "exact"})
    assert alone.doubt_weights() == []


@given(legs, st.sampled_from([RrfSettings(), *LINEAR]), st.sampled_from(["weights", "factors"]))
def test_a_leg_of_weight_0_adds_nothing(legs, fusion, by):
    off = {min(legs): 0.0}
    rest = {name: found for name, found in legs.items() if name not in off}
    expected = fusion.fuse(rest)
    if by == "factors":
        assert fusion.fuse(legs, off) == expected
    else:
        weighed = fusion.model_copy(update={"weights": off})
        assert weighed.fuse(legs) == expected
        boostless = fusion.model_copy(update={"weights": off, "boosts": {min(legs): 0.0}})
        assert boostless.fuse(legs) == expected


def test_a_leg_of_weight_0_still_boosts():
    fusion = RrfSettings(weights={"exact": 0.0}, boosts={"exact": 10.0})
    fused = fusion.fuse({"exact": [(4, 1.0), (5, 1.0)], "b": [(1, 2.0)]}, None, {"exact": [5]})
    assert fused == [(4, 10.0), (1, 1 / 61)]


def test_a_list_whose_best_does_not_stand_out_adds_nothing_by_confidence():
    flat = [(i, 1.0) for i in range(20)] + [(20, 0.5)]  # the first is no better than the mean of 20
    fusion = LinearSettings(type="linear", confidence=True)
    assert fusion.fuse({"a": flat, "b": [(90, 3.0), (91, 1.0)]}) == fusion.fuse(
        {"b": [(90, 3.0), (91, 1.0)]}, {"b": 2.0}
    )


@pytest.mark.parametrize("weights", [{"a": -1.0}, {"a": 0.0, "b": 0.0}])
def test_weights_by_which_nothing_could_be_found_are_refused(weights):
    legs = {"a": {"type": "bm25"}, "b": {"type": "exact"}}
    with pytest.raises(ValueError, match="floors: min-max has none; allowed with"):
        linear(floors={"dense": -1.0})
    with pytest.raises(ValidationError, match=r"or equal to 0|0 for every leg"):
        PipelineSettings.model_validate(
            {"legs": legs, "fusion": {"type": "rrf", "weights": weights}}
        )


def test_a_leg_of_weight_0_is_not_asked_and_that_is_told(tmp_path):
    heard = RecordingProgress()
    legs = {"a": {"type": "bm25"}, "b": {"type": "exact"}, "c": {"type": "graph"}}
    settings = PipelineSettings.model_validate(
        {"legs": legs, "fusion": {"type": "rrf", "weights": {"b": 0.0}}}
    )
    settings.build(DocumentSettings(), Resources(Cache(tmp_path), heard))
    assert heard.lines == [
        "warning: fusion.weights.b: 0, so this leg is not asked and adds nothing"
    ]
    assert list(settings.active) == ["a", "c"]


@pytest.mark.parametrize(
    "fusion",
    [
        RrfSettings(type="rrf", k=10, weights={"dense": 0.7, "keyword": 0.3}),
        LinearSettings(type="linear", weights={"dense": 0.7, "keyword": 0.3}),
    ],
)
def test_the_first_of_every_leg_has_the_highest_score_there_can_be(fusion):
    legs = {"dense": [(0, 0.9), (1, 0.1)], "keyword": [(0, 12.0), (2, 3.0)]}
    assert dict(fusion.fuse(legs))[0] == pytest.approx(fusion.top(legs))
