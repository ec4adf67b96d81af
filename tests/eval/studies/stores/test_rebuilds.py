"""Rankings of indexes that are built again: equal, equal but for ties, or moved."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.parity import make_bench

from assay.eval.configs.engine_settings import read_engine
from assay.eval.studies.stores.engines.rebuilds import (
    EngineConformance,
    SearchRebuild,
    compare_builds,
    examine_conformance,
    judge,
)
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

A = [(4, 0.9), (2, 0.5), (7, 0.5), (1, 0.2)]
SWAPPED = [(4, 0.9), (7, 0.5 + 1e-8), (2, 0.5), (1, 0.2)]
OTHER_LAST = [(4, 0.9), (2, 0.5), (7, 0.5), (3, 0.2)]
OTHER_FIRST = [(9, 0.9), (2, 0.5), (7, 0.5), (1, 0.2)]
OTHER_SCORE = [(4, 0.8), (2, 0.5), (7, 0.5), (1, 0.2)]


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (A, "exact"),
        (SWAPPED, "same but for ties"),
        (OTHER_LAST, "same but for ties"),
        (OTHER_FIRST, "moves"),
        (OTHER_SCORE, "moves"),
        (A[:3], "moves"),
    ],
)
def test_two_rankings_are_told_apart(other, verdict):
    assert judge(A, other) == verdict
    assert judge(other, A) == verdict


def test_the_worst_of_all_builds_and_queries_counts():
    first = {"q1": A, "q2": A}
    found = compare_builds("dense", [first, {"q1": SWAPPED, "q2": A}, {"q1": A, "q2": OTHER_FIRST}])
    assert (found.verdict, found.moved, found.moved_in_head) == ("moves", 2, 2)
    deep = [(i, 1 / i) for i in range(1, 20)]
    moved = compare_builds("dense", [{"q": deep}, {"q": [*deep[:-1], (99, 0.01)]}])
    assert (moved.verdict, moved.moved, moved.moved_in_head) == ("moves", 1, 0)


@given(st.permutations(range(6)))
def test_any_order_of_equal_scores_is_the_same_but_for_ties(order):
    listed, other = [(i, 0.5) for i in range(6)], [(i, 0.5) for i in order]
    assert judge(listed, other) == ("exact" if listed == other else "same but for ties")


@pytest.mark.parametrize("engine", ["sqlite", "qdrant-edge"])
def test_an_engine_of_this_process_is_built_cold_each_time(engine, tmp_path):
    resources = Resources(Cache(tmp_path))
    found = examine_conformance(make_bench(), read_engine(engine), 2, resources)
    assert (found.broken, found.reproducible, found.failed) == ({}, True, False)
    verdicts = {item.search: item.verdict for item in found.searches}
    assert verdicts == dict.fromkeys(("dense", "keyword", "hybrid"), "exact")
    assert not list(tmp_path.iterdir())


def test_an_engine_that_moves_and_does_not_say_so_fails():
    moved = SearchRebuild("dense", "moves", 3, 0)
    told = EngineConformance("some", 17, {}, False, 9, 2, (moved,))
    assert not told.failed
    assert replace(told, reproducible=True).failed
    assert replace(told, broken={"rule": "problem"}).failed
