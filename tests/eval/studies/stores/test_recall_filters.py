"""Recall among the passages that a filter lets through, against what plain Python finds there."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.parity import make_bench

from assay.eval.cli.report_screen import print_report
from assay.eval.configs.engine_settings import read_engine
from assay.eval.report.files import write_blocks
from assay.eval.studies.stores.recall.filters import (
    draw_passages,
    measure_recalls,
    parse_shares,
    search_among,
)
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.eval.studies.stores.recall.study import report
from assay.retrievers.base import AssayError
from assay.retrievers.fusion.ranking import best
from assay.retrievers.legs.leg_set import over_fetch
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


class Store:
    """Finds all but the `missed` passages; it `drops` its filter, or has none."""

    def __init__(self, vectors, missed=(), restricts=True, drops=False):
        self.vectors, self.missed, self.restricts, self.drops = vectors, missed, restricts, drops
        self.allowed = np.arange(len(vectors))

    def dense(self, vector, limit):
        known = np.setdiff1d(self.allowed, np.array(self.missed, np.intp))
        return list(best(self.vectors @ vector, limit, known))

    def restrict(self, allowed):
        if not self.restricts:
            return None
        other = Store(self.vectors, self.missed)
        other.allowed = self.allowed if self.drops else allowed
        return other


def bench_of(vectors, queries):
    asked = [SimpleNamespace(id=str(i)) for i in range(len(queries))]
    encoded = {query.id: vector for query, vector in zip(asked, queries, strict=True)}
    return SimpleNamespace(vectors=vectors, asked=asked, encoded=encoded)


def measure(store, queries, allowed):
    """Return recall@10 and recall@100 of a store among the passages allowed."""
    search = search_among(store, allowed, len(store.vectors))
    found = measure_recalls(bench_of(store.vectors, queries), search, allowed)
    return [found[10].value, found[100].value]


@given(st.integers(1, 160), st.integers(0, 2**32 - 1), st.booleans())
def test_recall_is_that_against_exact_search_among_the_same(size, seed, restricts):
    chance = np.random.default_rng(seed)
    drawn = chance.standard_normal((size + 3, 8)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors, queries = drawn[:size], drawn[size:]
    allowed = np.sort(chance.choice(size, chance.integers(1, size + 1), replace=False))
    missed = chance.choice(size, size // 4, replace=False).tolist()
    store = Store(vectors, missed, restricts)
    expected = []
    for depth in (10, 100):
        shares = []
        for query in queries:
            nearest = sorted(allowed.tolist(), key=lambda i: -float(vectors[i] @ query))[:depth]
            shares.append(len(set(nearest) - set(missed)) / len(nearest))
        expected.append(sum(shares) / len(shares))
    assert measure(store, queries, allowed) == pytest.approx(expected)
    assert measure(Store(vectors, (), restricts), queries, allowed) == [1, 1]


def test_a_store_that_drops_its_filter_misses_what_may_be_found():
    vectors = np.eye(400, dtype=np.float32)
    queries = np.linspace(1, 0, 400, dtype=np.float32)[None]
    allowed = np.arange(200, 400)
    assert measure(Store(vectors), queries, allowed) == [1, 1]
    assert measure(Store(vectors, drops=True), queries, allowed) == [0, 0]


@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_asking_for_more_ends_with_the_best_of_what_may_be_found(size, depth, seed):
    chance = np.random.default_rng(seed)
    everything = list(best(chance.random(size), size))
    allowed = set(chance.choice(size, chance.integers(0, size + 1), replace=False).tolist())
    found, asked = over_fetch(lambda step: everything[:step], allowed, depth, size)
    assert found == [pair for pair in everything if pair[0] in allowed][:depth]
    assert asked >= min(size, len(found))


def test_passages_are_drawn_once_for_all_by_shares():
    assert draw_passages(50, 1) is None
    drawn = draw_passages(1000, 0.1)
    assert len(drawn) == 100
    assert np.all(np.diff(drawn) > 0)
    assert np.array_equal(drawn, draw_passages(1000, 0.1))
    assert len(draw_passages(10, 0.001)) == 1
    assert parse_shares(".5,0.1,.5,1e-3") == [0.5, 0.1, 0.001]
    for wrong in ("0", "1", "-.1", "nan", "half", ".5,"):
        with pytest.raises(AssayError, match="no share; allowed: above 0 and below 1"):
            parse_shares(wrong)


def test_a_setting_and_filters(tmp_path, capsys):
    variants = list_variants(read_engine("qdrant-edge", ["m=2", "ef_construct=4"]), "ef", [1, 64])
    resources = Resources(Cache(tmp_path / "cache"))
    curve = run_sweep(make_bench(), "ef", variants, "assay recall …", resources, [0.5, 0.2])
    assert [(point.label, point.share) for point in curve.points] == [
        (label, share) for label in ("ef 1", "ef 64", "exact search") for share in (1, 0.5, 0.2)
    ]
    least, most, exact = (curve.points[i].recall for i in (0, 3, 6))
    assert least[10].value <= most[10].value <= exact[10].value == exact[100].value == 1
    assert curve.points[0].quality.n == len(make_bench().queries)
    for point in curve.points:
        assert (point.quality is None) is (point.share < 1)
        assert point.recall[10].value == 1 or not point.exact
        assert point.latency_ms[10]["p95"].value > 0
    told = report(curve)
    assert list(told.tables) == ["points", "points_50", "points_20"]
    assert ["quality" in [i.key for i in table.columns] for table in told.tables.values()] == [
        True, False, False
    ]  # fmt: skip
    assert told.verdict[0].startswith("for the 10 nearest passages: ef 1")
    assert "; exact search takes " in told.verdict[0]
    assert "that a filter of 20 % lets through: " in told.verdict[2]
    written = write_blocks(curve, told, tmp_path / curve.id)
    text = written.read_text()
    assert text.count("<circle") == 2 * 9
    assert "qdrant-edge by ef and filter" in text
    assert "Recall and latency through a filter of 50 %" in text
    stored = json.loads((written.parent / "recall.json").read_text())
    assert stored["filters"] == [0.5, 0.2]
    assert [point["share"] for point in stored["points"]] == [1, 0.5, 0.2] * 3
    print_report(told)
    assert "through a filter of 20 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "labels"),
    [("qdrant-edge", ["qdrant-edge exact=false", "exact search"]), ("sqlite", ["exact search"])],
)
def test_filters_alone(name, labels):
    assert [variant.label for variant in list_variants(read_engine(name))] == labels
