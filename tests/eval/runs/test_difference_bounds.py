"""What judging the unjudged could make of a difference: the bounds, and the sentence on them."""

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_run

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.collection import GoldItem
from assay.eval.runs.summary.difference_bounds import (
    DifferenceBounds,
    bound_differences,
    describe_bounds,
)
from assay.eval.runs.summary.open_pairs import OpenPair, discount, list_open

CUTOFF = 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder, name, [1]) for name in ("base", "other")]


def score(ranks, grades, others):
    """Return nDCG of texts of such grades at such ranks, where `others` were not returned."""
    ideal = sorted(grades + others, reverse=True)[:CUTOFF]
    best = math.fsum(grade * discount(i) for i, grade in enumerate(ideal, start=1))
    gained = math.fsum(grade * discount(rank) for rank, grade in zip(ranks, grades, strict=True))
    return gained / best if best else 0.0


@st.composite
def contests(draw):
    """Draw the ranks of open and of judged texts in both runs, the grades of these, the highest."""
    places = [(0, 1, 2, 3)] * 2
    base, other = (draw(st.permutations(i)) for i in places)
    ranks = [pair for pair in zip(base, other, strict=True) if any(pair)]
    known = draw(st.integers(0, len(ranks)))
    highest = draw(st.integers(1, 2))
    grades = draw(st.lists(st.integers(0, highest), min_size=known, max_size=known))
    return ranks[known:], ranks[:known], grades, highest


@given(contests())
@settings(max_examples=60, deadline=None)
def test_no_way_to_grade_the_open_pairs_leaves_the_bounds(runs, contest):
    open_, judged, grades, highest = contest
    # A text that neither run has returned has the highest grade, so that each grade is given.
    others = list(range(1, highest + 1))
    gold = {
        "q0": tuple(
            GoldItem("q0", str(i), f"d{i}", 0, 13, grade) for i, grade in enumerate(grades + others)
        )
    }

    def find(filled):
        ranks = judged + open_
        sides = ([pair[side] for pair in ranks] for side in (0, 1))
        return [score(side, grades + list(filled), others) for side in sides]

    scores = [{"q0": value} for value in find((0,) * len(open_))]
    pair = Pair("q0", "", "", "d", "", 0, 1, "")
    found = [OpenPair(pair, ranks) for ranks in open_]
    graded = [replace(run, gold=gold) for run in runs]
    (bounds,) = bound_differences(graded, scores, found, CUTOFF)
    differences = [
        other - base for base, other in map(find, product(range(highest + 1), repeat=len(open_)))
    ]
    assert bounds.difference == pytest.approx(scores[1]["q0"] - scores[0]["q0"])
    assert bounds.low - 1e-9 <= min(differences)
    assert max(differences) <= bounds.high + 1e-9
    if highest == 1:
        assert (bounds.low, bounds.high) == (
            pytest.approx(min(differences)),
            pytest.approx(max(differences)),
        )


def make_bounded(folder, ranks, depth):
    runs = [make_run(folder, name, planned) for name, planned in ranks.items()]
    measure = f"nDCG@{depth}"
    scores = [run.score([measure])[measure] for run in runs]
    return bound_differences(runs, scores, list_open(runs, depth)[0], depth)


def test_bounds_worked_by_hand(tmp_path):
    """Only the first hit counts: the answer is first in one, and an unjudged text in the other."""
    (bounds,) = make_bounded(tmp_path, {"base": [1, 1], "other": [2, 2]}, 1)
    assert (bounds.difference, bounds.low, bounds.high) == (-1, -1, 0)
    assert not bounds.could_turn
    (turned,) = make_bounded(tmp_path, {"other": [2, 2], "base": [1, 1]}, 1)
    assert (turned.difference, turned.low, turned.high) == (1, 0, 1)
    both, first, second = make_bounded(tmp_path, {"a": [1, 1], "b": [1, 1], "c": [2, 2]}, 1)
    assert (both.low, both.high) == (0, 0)
    assert (first.low, first.high) == (second.low, second.high) == (-1, 0)


def test_the_sentence():
    sure = DifferenceBounds("a", "b", 0.1, 0.05, 0.2)
    open_ = DifferenceBounds("a", "c", 0.1, -0.05, 0.2)
    none = DifferenceBounds("b", "c", 0.1, 0.1, 0.1)
    said = "Judging the unjudged hits could turn which run is better by nDCG@10"
    assert describe_bounds("nDCG@10", [none]) == describe_bounds("nDCG@10", []) == ""
    assert describe_bounds("nDCG@10", [open_]) == (
        f"{said}: c less a is +0.100, and from −0.050 to +0.200 whatever of them is relevant"
    )
    sentence = describe_bounds("nDCG@10", [sure])
    assert "cannot turn which run is better by nDCG@10: b less a is +0.100" in sentence
    assert describe_bounds("nDCG@10", [sure, open_, none]) == (
        f"{said} in 1 of 3 pairs: c less a from −0.050 to +0.200"
    )
    assert describe_bounds("nDCG@10", [sure, none]).endswith("by nDCG@10, in any pair")
    assert describe_bounds("nDCG@10", [open_] * 5).endswith("+0.200; and 2 more pairs")
