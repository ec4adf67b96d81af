"""What is kept of a comparison is found again only where it would come out the same."""

import pytest
from samples.planned_runs import make_run

from assay.eval.runs.json_form import to_json
from assay.eval.runs.stored import load
from assay.eval.studies.comparison import page
from assay.eval.studies.comparison.running import compare_systems, write_page
from assay.retrievers.base import Quiet

BASE, OTHER = [1, 2, 0, 3, 1, 0], [2, 1, 1, 3, 0, 0]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The folders of two stored runs, and a cache that holds nothing yet."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    runs = make_run(tmp_path, "base", BASE), make_run(tmp_path, "other", OTHER)
    return [run.folder for run in runs]


@pytest.fixture
def written(monkeypatch):
    """The folders of the pages that were written, in order."""
    pages = []
    write = page.write

    def note(compared, reports):
        pages.append(write(compared, reports))
        return pages[-1]

    monkeypatch.setattr(page, "write", note)
    return pages


def compare(folders, measures=None):
    return compare_systems([load(folder) for folder in folders], measures, 0.02, Quiet())


def test_what_stands_is_left_and_no_ranking_is_read(folders, written, tmp_path):
    first = compare(folders)
    told = to_json(first)
    place = write_page(first, tmp_path)
    again = compare(folders)
    assert write_page(again, tmp_path) == place
    assert to_json(again) == told
    assert again.bounds == first.bounds != ()
    assert written == [place]
    assert not any("lists" in vars(run) for run in again.runs)


@pytest.mark.parametrize(
    "change",
    [
        lambda folders, place: place.write_text("other", encoding="utf-8"),
        lambda folders, place: place.with_name("first_hits.csv").unlink(),
        lambda folders, place: (folders[0] / "answers.jsonl").write_text("", encoding="utf-8"),
    ],
)
def test_what_does_not_stand_is_written(folders, written, tmp_path, change):
    place = write_page(compare(folders), tmp_path)
    before = place.read_bytes()
    change(folders, place)
    assert write_page(compare(folders), tmp_path) == place
    assert written == [place, place]
    assert place.read_bytes() == before


def test_other_measures_and_who_asks_for_it_have_it_written(folders, written, tmp_path):
    write_page(compare(folders), tmp_path)
    write_page(compare(folders), tmp_path, rerun=True)
    write_page(compare(folders, ["MRR@10"]), tmp_path)
    assert len(written) == 3
