"""Which judgments decide a comparison: bounds, order, and the verdict that is foretold."""

import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.cli.pool import pool
from assay.eval.collections.authoring import worksheet
from assay.eval.collections.collection import GoldItem
from assay.eval.studies.judging.adjudication_priority import decide
from assay.eval.studies.judging.minimal_test_collections import (
    OPEN,
    RunPair,
    believe,
    bound,
    foretell,
    most_likely,
    order,
    score,
)
from assay.eval.studies.judging.pooling import make_pool
from assay.retrievers.base import AssayError

RANKS = {"good": [1, 2] * 8, "poor": [2, 1] * 8}


def make_contest(pairs: list[tuple[int, int, int]], highest: int = 1, **known) -> RunPair:
    """Return a pair of runs of (query, rank in the base, rank in the other), 0 for none."""
    pairs = sorted(pairs)
    query, base, other = np.array(pairs, dtype=np.int64).T
    queries = int(query.max()) + 1

    def discount(rank: np.ndarray) -> np.ndarray:
        return np.where(rank > 0, 1 / np.log2(1 + np.maximum(rank, 1)), 0.0)

    ranks = np.where(base == 0, other, np.where(other == 0, base, np.minimum(base, other)))
    return RunPair(
        cutoff=10,
        query=query,
        weight=discount(other) - discount(base),
        rank=ranks,
        gap=known.get("gap", np.zeros(queries)),
        relevant=known.get("relevant", np.zeros((highest, queries), dtype=np.int64)),
        levels=np.arange(1, highest + 1),
    )


def test_where_nothing_is_open_all_is_decided() -> None:
    none = np.array([], dtype=np.int64)
    gap, relevant = np.array([0.5, 0.0, 0.0]), np.ones((1, 3), dtype=np.int64)
    run_pair = RunPair(
        10, none, none.astype(float), none, gap, relevant, np.ones(1, dtype=np.int64)
    )
    assert bound(run_pair, none) == pytest.approx((0.5 / 3, 0.5 / 3))
    assert len(order(run_pair, none)) == 0
    assert most_likely(foretell(run_pair, none)) == ("no difference shown", 1)


def test_a_difference_worked_by_hand() -> None:
    """Relevant is the base's second, which the other has first, and the other's second alone."""
    run_pair = make_contest([(0, 1, 0), (0, 2, 1), (0, 0, 2)])
    half = 1 / math.log2(3)
    # Sorted: the other's second, the base's first, and what both have.
    assert score(run_pair, np.array([1, 0, 1])).tolist() == [
        pytest.approx(((1 + half) - half) / (1 + half))
    ]
    assert score(run_pair, np.array([OPEN, OPEN, OPEN])).tolist() == [0]


@st.composite
def run_pairs(draw: st.DrawFn) -> tuple[RunPair, np.ndarray]:
    highest = draw(st.integers(1, 2))
    queries = draw(st.integers(1, 2))
    pairs = [
        (query, base, other)
        for query in range(queries)
        for base, other in draw(
            st.lists(
                st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any),
                min_size=1, max_size=4, unique=True,
            )
        )
    ]  # fmt: skip
    levels = [draw(st.integers(0, 2)) for _ in range(highest)]
    relevant = np.array([sorted(levels, reverse=True)] * queries, dtype=np.int64).T
    gap = np.array([draw(st.floats(-1, 1)) if levels[0] else 0.0 for _ in range(queries)])
    grades = np.array(draw(st.lists(
        st.integers(OPEN, highest), min_size=len(pairs), max_size=len(pairs)
    )))  # fmt: skip
    return make_contest(pairs, highest, gap=gap, relevant=relevant), grades


@given(run_pairs())
@settings(max_examples=60, deadline=None)
def test_no_way_to_grade_the_open_pairs_leaves_the_bounds(given_: tuple) -> None:
    run_pair, grades = given_
    low, high = bound(run_pair, grades)
    open_ = np.flatnonzero(grades == OPEN)
    means = []
    for filled in product(range(run_pair.levels[-1] + 1), repeat=len(open_)):
        complete = grades.copy()
        complete[open_] = filled
        means.append(score(run_pair, complete).mean())
    assert low - 1e-9 <= min(means)
    assert max(means) <= high + 1e-9
    if run_pair.levels[-1] == 1:
        assert (low, high) == (pytest.approx(min(means)), pytest.approx(max(means)))


@given(run_pairs())
@settings(max_examples=60, deadline=None)
def test_high_grades_decide_as_low_ones_do(given_: tuple) -> None:
    low, grades = given_
    high = replace(low, levels=1_000_000 * low.levels, gap=1_000_000 * low.gap)
    raised = np.where(grades > 0, 1_000_000 * grades, grades)
    assert score(high, raised) == pytest.approx(score(low, grades))
    assert bound(high, raised) == pytest.approx(bound(low, grades))
    assert order(high, raised).tolist() == order(low, grades).tolist()
    assert foretell(high, raised) == foretell(low, grades)


def test_what_can_move_it_most_comes_first_and_what_cannot_last() -> None:
    run_pair = make_contest([(0, 1, 1), (0, 2, 0), (0, 0, 3), (1, 0, 1), (1, 4, 5)])
    found = order(run_pair, np.full(5, OPEN)).tolist()
    assert run_pair.rank[found[0]] == 1
    assert run_pair.query[found[0]] == 1, "the answer that one run alone has first"
    assert run_pair.weight[found[-1]] == 0, "at the same rank in both, with nothing else known"
    judged = np.array([OPEN, 1, OPEN, 0, OPEN])
    assert set(order(run_pair, judged).tolist()) == {0, 2, 4}


def test_the_chance_of_being_relevant_is_learnt_from_pairs_alike() -> None:
    run_pair = make_contest([(query, 1, 2) for query in range(40)] + [(0, 2, 1)])

    def find_chance(grades: np.ndarray, pair: int) -> float:
        group, relevant, others = believe(run_pair, grades)
        return float((relevant / (relevant + others))[group[pair]])

    grades = np.full(41, OPEN)
    one_way = np.flatnonzero(run_pair.weight < 0)
    [other_way] = np.flatnonzero(run_pair.weight > 0)
    assert find_chance(grades, one_way[-1]) == 0.5
    grades[one_way[1:21]] = [1] + [0] * 19
    # One of twenty, and half of two: 2 / 22.
    assert find_chance(grades, one_way[-1]) == pytest.approx(2 / 22)
    assert find_chance(grades, other_way) == 0.5, "the other run's are another matter"
    grades[one_way[1:21]] = 1
    assert find_chance(grades, one_way[-1]) == 0.5, "relevant ones alone tell nothing"


def test_a_verdict_is_foretold_once_the_rest_cannot_change_it() -> None:
    run_pair = make_contest(
        [(query, 2, 1) for query in range(30)] + [(query, 0, 9) for query in range(30)]
    )
    grades = np.full(60, OPEN)
    assert most_likely(foretell(run_pair, grades))[1] < 0.95, "nothing is known"
    grades[run_pair.rank == 1] = 1
    grades[np.flatnonzero(run_pair.rank == 9)[:10]] = 0
    verdict, share = most_likely(foretell(run_pair, grades))
    assert (verdict, share) == ("better", 1)
    assert bound(run_pair, grades)[0] > 0
    assert foretell(run_pair, grades) == foretell(run_pair, grades)
    ties = np.where(run_pair.rank == 1, 0, OPEN)
    assert bound(run_pair, ties)[0] >= 0, "only the other has what is open"


# Of stored runs


def test_stored_runs_are_decided_or_not(tmp_path: Path) -> None:
    """The answer stands first in one and third in the other, and all else is unjudged.

    A text that answers no query, judged for each, tells that others are rarely relevant.
    """
    collection = make_collection(24)
    nothing = {
        query: (*items, GoldItem(query, "x", f"d{(i + 1) % 24}", 0, 13, 0))
        for i, (query, items) in enumerate(collection.gold.items())
    }
    collection = replace(collection, gold=nothing)
    good, poor = (
        make_run(tmp_path, name, [rank] * 24, collection=collection)
        for name, rank in (("good", 1), ("poor", 3))
    )
    found = decide([good, poor], 5)
    assert found.measure == "nDCG@5"
    assert found.difference == pytest.approx(1 / math.log2(4) - 1)
    assert found.low <= found.difference < found.high
    assert (found.verdict, found.is_decided) == ("worse", True)
    turned = decide([poor, good], 5)
    assert (turned.verdict, turned.difference) == ("better", -found.difference)
    assert (turned.low, turned.high) == (pytest.approx(-found.high), pytest.approx(-found.low))
    assert set(found.pool.pairs) == set(make_pool([good, poor], 5).pairs)
    few = decide([run.take({"q0", "q1", "q2"}) for run in (good, poor)], 5)
    assert few.verdict == "no difference shown", "three queries can show none"
    assert few.as_json()["decided"] is True
    with pytest.raises(AssayError, match="--decide: needs two runs to decide between, not 1"):
        decide([good, good], 5)


def test_a_pool_that_decides_is_written_until_it_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reports"
    good, poor = (make_run(folder, name, ranks).folder for name, ranks in RANKS.items())
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(pool, [str(good), str(poor), "--depth", "3", *arguments])

    result = call("--decide", "--limit", "7", "--json")
    told = json.loads(result.stdout)
    assert told["decision"]["decided"] is False
    assert told["written"] == 7 == len(worksheet.read(tmp_path / "pool.csv"))
    assert "decision" not in json.loads(call("--json", "--output", "all.csv").stdout)
    shown = call("--decide", "--output", "more.csv").output
    assert re.search(r"nDCG@3, second minus first: [+-]0\.\d{4} with open pairs", shown)
    assert "verdict foretold: " in shown
