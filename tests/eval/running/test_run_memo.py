"""What is kept of a run is found again exactly where it would come out the same.

So it is with what is written beside it.
"""

import shutil

import pytest
from samples.planned_runs import make_run

from assay.eval.report.run_page import page as report
from assay.eval.running import run_memo
from assay.eval.running.cached_figures import FiguresCache
from assay.eval.running.cached_summaries import summarise_cached
from assay.eval.running.run import export_summary, write_report
from assay.eval.running.run_memo import Memo, of_stored
from assay.eval.runs import environment
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.stored import load
from assay.retrievers.store.cache import Cache


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A cache that holds nothing yet."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    yield Cache(tmp_path / "cache")
    run_memo._name_code.cache_clear()


@pytest.fixture
def written(monkeypatch):
    """The pages that were written, in order."""
    pages = []
    write = report.write

    def note(summary):
        pages.append(page := write(summary))
        return page

    monkeypatch.setattr(report, "write", note)
    return pages


def append(name):
    return lambda folder: (folder / name).write_text("other", encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "report.html").unlink(),
        lambda folder: shutil.rmtree(folder.parent / "cache"),
        append("items.csv"),
        append("report.md"),
        append("answers.jsonl"),
    ],
    ids=["page lost", "cache lost", "export changed", "report changed", "more to show"],
)
def test_what_does_not_stand_is_written(tmp_path, written, change):
    run = make_run(tmp_path, "run", [1, 2, 0])
    write_report(run)
    change(run.folder)
    write_report(run)
    assert len(written) == 2
    assert (run.folder / "items.csv").read_text() != "other"
    write_report(run)
    assert len(written) == 2


def test_other_measures_and_who_asks_for_it_have_it_written(tmp_path, written):
    run = make_run(tmp_path, "run", [1, 2, 0])
    write_report(run)
    write_report(run, ["nDCG@3"])
    write_report(run, ["nDCG@3"], rerun=True)
    assert len(written) == 3


def grade_nothing(folder):
    path = folder / "gold.jsonl"
    path.write_text(path.read_text().replace('"grade":1', '"grade":0', 1))


def test_figures_of_a_stored_run_follow_its_files(tmp_path, kept):
    folder = make_run(tmp_path, "run", [1, 1, 1]).folder
    figures = FiguresCache(["Hit@1"], kept)
    assert figures.show(folder).figures.means["Hit@1"].value == 1
    grade_nothing(folder)
    assert figures.show(folder).figures.scores["Hit@1"]["q0"] == 0
    assert summarise_cached(load(folder), ["Hit@1"]).scores["Hit@1"]["q0"] == 0


def test_a_value_is_made_once_though_it_is_none(kept):
    made = []
    for _ in range(2):
        found = Memo("run", kept).find("cost", float | None, lambda: made.append(1))
        assert found is None
    assert Memo("run", kept).find("other", int, lambda: 2, keeps=lambda _: False) == 2
    assert Memo("run", kept).recall(["cost", "other"]).keys() == {"cost"}
    assert Memo("run", None).find("cost", int, lambda: 3) == 3
    assert len(made) == 1


def raise_revision(patch):
    patch.setattr(run_memo, "REVISION", 99)


def install_another(patch):
    patch.setattr(environment, "packages", lambda: {"numpy": "99"})


@pytest.mark.parametrize("change", [raise_revision, install_another])
def test_other_code_computes_anew(
    tmp_path, kept, monkeypatch,
    change):  # fmt: skip
    folder = make_run(tmp_path, "run", [1, 2, 0]).folder
    memo = Memo(of_stored(folder), kept)
    memo.keep({"figure": b"1"})
    assert memo.recall(["figure", "other"]) == {"figure": b"1"}
    change(monkeypatch)
    run_memo._name_code.cache_clear()
    assert memo.recall(["figure"]) == {}


@pytest.mark.parametrize(
    "change",
    [
        grade_nothing,
        append("answers.jsonl"),
        append("config.yaml"),
        lambda folder: (folder / "latency.jsonl").unlink(),
        lambda folder: append(MANIFEST)(folder),
    ],
    ids=["judgments", "another file", "config", "file lost", "manifest"],
)
def test_a_stored_run_is_known_by_its_files(tmp_path, change):
    run = make_run(tmp_path, "run", [1, 2, 0])
    before = of_stored(run.folder)
    export_summary(run)
    assert of_stored(run.folder) == before, "what is made of it is no part of it"
    assert of_stored(run.folder, ["q0"]) != of_stored(run.folder, ["q1"]) != before
    change(run.folder)
    assert of_stored(run.folder) != before
