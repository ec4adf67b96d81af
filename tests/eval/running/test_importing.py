"""An import that is known is not read again, and any other is."""

import pytest
from samples.collection_folders import write_beir
from tools.recording_progress import RecordingProgress

from assay.eval.running.importing import import_runs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A collection with a run of two systems, and a cache and a folder of reports of their own."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    documents = {f"d{i}": f"Text {i}." for i in range(3)}
    write_beir(tmp_path, documents, {"q": "Which?"}, {"q": {"d1": 1}})
    lines = [f"q Q0 d{i} {i} {9 - i} {tag}\n" for tag in ("a", "b") for i in range(3)]
    (tmp_path / "run.trec").write_text("".join(lines))
    return tmp_path


def take(folder, depth=2, ties="ranks", rerun=False):
    progress = RecordingProgress()
    file = folder / "run.trec"
    runs = import_runs(file, str(folder), None, depth, "fail", ties, rerun, progress)
    return list(runs), progress.lines


def test_other_ties_and_again_make_other_runs(folder):
    made = {outcome.folder for outcome in take(folder)[0]}
    for changed in (take(folder, ties="ids"), take(folder, rerun=True)):
        assert not any(outcome.reused or outcome.folder in made for outcome in changed[0])
