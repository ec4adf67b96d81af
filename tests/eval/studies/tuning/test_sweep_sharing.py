"""What points of a sweep share, what is kept of them, and what a dry run says of both."""

import json
from dataclasses import asdict

import pytest
from tools.open_legs import count_open_legs
from tools.processes import ROOT

from assay.eval.running import cached_figures
from assay.eval.running.runner import Runner
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep
from assay.retrievers.base import Quiet
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.text import term_counts

QUICK = ("limit=4", "latency.queries=3", "latency.warm_up=0")
LEG = "retriever.legs.keyword"


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {ROOT}/configs/bm25.yaml\n"
        f"axes: {{{LEG}.k1: [0.5, 3.0], {LEG}.depth: [5, 9]}}\n"
        "collections: [harbourline]\n"
    )
    return path


def run(sweep, folder, *, stored):
    resources = Resources(Cache(folder / "cache"), Quiet())
    tasks = list_tasks(sweep, read_sweep(sweep), QUICK)
    return Runner("nDCG@10", resources, folder / "reports", stored=stored).run(tasks)


def scores(done):
    return [
        (one.identity, one.result.figures.means, one.result.figures.scores)
        for one in done
        if one.result.figures
    ]


def tell(done):
    """Return what MLflow is told, as JSON values."""
    records = [asdict(one.record) for one in done if one.record]
    return json.loads(json.dumps(records, default=str))


def test_a_point_scores_as_its_stored_run_bit_for_bit(sweep, tmp_path):
    alone, shared = (
        run(sweep, tmp_path / name, stored=name == "stored") for name in ("stored", "scored")
    )
    assert len(scores(alone)) == 4
    assert scores(alone) == scores(shared)
    assert all(one.run for one in alone)
    assert not any(one.run for one in shared)
    assert not (tmp_path / "scored" / "reports").exists()


def test_a_finished_point_is_only_read(sweep, tmp_path, monkeypatch):
    first = run(sweep, tmp_path, stored=False)

    def fail(*_):
        raise AssertionError("it was searched again")

    monkeypatch.setattr(cached_figures, "search_unstored", fail)
    again = run(sweep, tmp_path, stored=False)
    assert [one.result for one in again] == [one.result for one in first]
    assert tell(again) == tell(first)


def test_texts_are_analysed_once_and_no_index_is_kept_longer_than_needed(
    sweep, tmp_path, monkeypatch
):
    counted = []
    real = term_counts.count_terms

    def count(passages, vocabulary):
        counted.append(len(passages))
        return real(passages, vocabulary)

    monkeypatch.setattr(term_counts, "count_terms", count)
    held = count_open_legs(monkeypatch)
    assert all(one.result.figures for one in run(sweep, tmp_path, stored=False))
    assert len(counted) == 1
    assert held == [1, 1, 1, 1], "that of one k1 is closed before the next is opened"
