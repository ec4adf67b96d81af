"""What is found again is what was computed: figures of runs, judgments, and runs in MLflow."""

import sqlite3

import pytest
from samples.collection_folders import write_native, write_rows
from samples.planned_runs import make_run

from assay.eval.collections.formats import memo
from assay.eval.collections.formats.native import NativeSource
from assay.eval.collections.loading import load
from assay.eval.running import cached_summaries
from assay.eval.running.cached_summaries import summarise_cached
from assay.eval.runs.stored import load as load_run
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking.local import holds
from assay.retrievers.base import AssayError

MEASURES = ("nDCG@10", "Hit@1", "Recall@2000tok", "Tokens@10")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def tell(summary):
    return [
        summary.scores,
        summary.means,
        summary.attribution,
        summary.legs,
        summary.cost,
        summary.run.without_hits,
        {item.measure: item for item in summary.unjudged},
    ]


def test_figures_are_found_again_as_they_were_computed(tmp_path, monkeypatch):
    folder = make_run(tmp_path, "run", [1, 0, 3]).folder
    computed = tell(summarise(load_run(folder), MEASURES))
    assert tell(summarise_cached(load_run(folder), MEASURES)) == computed
    assert tell(summarise_cached(load_run(folder), MEASURES[::-1])) == computed

    def refuse(run, names=()):
        assert not names, f"{names} of {run.folder} computed anew"

    for name in ("attribute", "score_legs", "find_cost", "examine"):
        monkeypatch.setattr(cached_summaries, name, refuse)
    monkeypatch.setattr(
        cached_summaries.generated_answers, "score", lambda run, names: refuse(run, names) or {}
    )
    assert tell(summarise_cached(load_run(folder), MEASURES)) == computed


def test_figures_are_computed_where_nothing_can_be_kept(tmp_path, monkeypatch):
    folder = make_run(tmp_path, "run", [1, 2]).folder
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    assert summarise_cached(load_run(folder), ["MRR@10"]).means["MRR@10"].value == 0.75


def test_a_ranking_is_read_when_it_is_asked_for(tmp_path):
    whole = make_run(tmp_path, "run", [1, 0])
    opened = load_run(whole.folder)
    assert opened.without_hits == load_run(whole.folder).without_hits
    assert dict(opened.rankings) == dict(whole.rankings)
    assert dict(opened.joined) == dict(whole.joined)
    path = whole.folder / "rankings.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second[:-1]}\n")
    damaged = load_run(whole.folder)
    assert damaged.rankings["q0"] == whole.rankings["q0"]
    with pytest.raises(AssayError, match=r"rankings\.jsonl:2: not a row"):
        damaged.rankings["q1"]


def test_judgments_are_found_again_until_a_file_changes(tmp_path, monkeypatch):
    row = {"query_id": "q", "path": "a.md", "start": 7, "end": 19}
    texts = {"a.md": "# One\n\nText of one.\n"}
    folder = write_native(tmp_path / "set", texts, [{"_id": "q", "text": "one?"}], [row])

    def read():
        return load(str(tmp_path / "set"))

    first = read()
    with monkeypatch.context() as patched:
        patched.delattr(NativeSource, "_read_gold")
        assert read() == first
    write_rows(folder / "judgments.jsonl", [row | {"end": 99}])
    with pytest.raises(AssayError, match="span 7 to 99 is not within"):
        read()
    assert memo.find("judgments", "another") is None


def test_a_store_is_asked_for_a_finished_run(tmp_path):
    path = tmp_path / "mlflow.db"
    assert not holds(path, "one")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE runs (run_uuid TEXT, status TEXT, lifecycle_stage TEXT)")
        rows = [
            ("one", "FINISHED", "active"),
            ("two", "FINISHED", "deleted"),
            ("three", "RUNNING", "active"),
        ]
        database.executemany("INSERT INTO runs VALUES (?, ?, ?)", rows)
    assert [holds(path, name) for name in ("one", "two", "three", "four")] == [True, *[False] * 3]
    path.write_text("no database")
    assert not holds(path, "one")
