"""A collection to judge, a table of its pairs, and the grades given to them."""

import pytest
from samples.judged_guide import (
    APT,
    BOTH,
    CARD,
    GUIDE,
    QUERIES,
    TEN,
    spot,
    write_jsonl,
    write_table,
)

from assay.eval.collections.authoring import worksheet
from assay.eval.collections.catalog import read_card
from assay.eval.collections.digests import seal
from assay.eval.collections.loading import load
from assay.eval.studies.judging.export import find_grade_file
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.sheet import make_sheet


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A sealed collection below the current folder, in which "Install it." has grade 3 for q."""
    folder = tmp_path / "datasets" / "tiny"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "guide.md").write_text(GUIDE)
    rows = ({"_id": id_, "text": text} for id_, text in QUERIES.items())
    write_jsonl(folder / "queries.jsonl", *rows)
    start, end = spot("Install it.")
    span = {"query_id": "q", "path": "guide.md", "start": start, "end": end, "grade": 3}
    whole = {"query_id": "r", "path": "guide.md"}
    write_jsonl(folder / "judgments.jsonl", span, whole)
    (folder / "dataset.yaml").write_text(CARD)
    seal(read_card(folder / "dataset.yaml"))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def table(tiny, tmp_path):
    return write_table(tmp_path / "pool.csv", {APT: "", TEN: "", BOTH: ""})


@pytest.fixture
def grades(table):
    file = GradeFile(find_grade_file(table))
    yield file
    file.close()


@pytest.fixture
def sheet(table):
    return make_sheet(worksheet.read(table), load("tiny"), None)
