"""What is kept of a comparison is found again only where it would come out the same."""

import pytest
from samples.planned_runs import make_run

from assay.eval.runs.json_form import to_json
from assay.eval.runs.stored import load
from assay.eval.studies.comparison import page
from assay.eval.studies.comparison.running import compare_systems, write_page
from assay.retrievers.base import Quiet

RANKS = {"base": [1, 2, 0, 3, 1, 0], "other": [2, 1, 1, 3, 0, 0]}


@pytest.fixture
def written(monkeypatch):
    """The folders of the pages that were written, in order."""
    pages, write = [], page.write

    def note(compared, reports):
        pages.append(write(compared, reports))
        return pages[-1]

    monkeypatch.setattr(page, "write", note)
    return pages


def test_what_stands_is_left_and_what_does_not_is_written(written, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    folders = [make_run(tmp_path, *item).folder for item in RANKS.items()]

    def compare(measures=None):
        return compare_systems([load(folder) for folder in folders], measures, 0.02, Quiet())

    first = compare()
    told = to_json(first)
    place = write_page(first, tmp_path)
    content = place.read_bytes()
    again = compare()
    assert write_page(again, tmp_path) == place
    assert to_json(again) == told
    assert again.bounds == first.bounds != ()
    assert written == [place]
    assert not any("lists" in vars(run) for run in again.runs), "no ranking is read"
    for change in (
        lambda: place.write_text("other", encoding="utf-8"),
        lambda: place.with_name("first_hits.csv").unlink(),
        lambda: (folders[0] / "answers.jsonl").write_text("", encoding="utf-8"),
    ):
        change()
        written.clear()
        assert write_page(compare(), tmp_path) == place
        assert (written, place.read_bytes()) == ([place], content)
    write_page(compare(), tmp_path, rerun=True)
    write_page(compare(["MRR@10"]), tmp_path)
    assert len(written) == 3
