"""The project file: what it may say, what goes before it, and what is told of a wrong one."""

from pathlib import Path

import pytest

from assay.eval.configs.config import load_config
from assay.eval.configs.locations import default_dataset, find_project, reports_folder
from assay.eval.configs.project import write_project
from assay.retrievers.base import AssayError

WHOLE = """\
collection = "harbourline"
pipelines = ["hybrid", "native_hybrid@sqlite"]
baseline = "bm25"
measures = ["Success@5", "nDCG@10"]
reports = "found"
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty working folder, where the environment names nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_DATASET", raising=False)
    monkeypatch.delenv("ASSAY_REPORTS", raising=False)
    return tmp_path


def read(text, name="assay.toml"):
    Path(name).write_text(text)
    project = find_project()
    assert project is not None
    return project


def test_collection_reports_and_measures_are_defaults(monkeypatch):
    project = read(WHOLE)
    assert project.list_pipelines() == ["hybrid", "native_hybrid@sqlite"]
    assert reports_folder() == Path("found")
    assert load_config("bm25").dataset == "harbourline"
    assert load_config("bm25").measures == ["Hit@5", "nDCG@10"]
    assert load_config("bm25", ["dataset=scifact"]).dataset == "scifact"
    assert load_config("bm25", ["measures=[Hit@1]"]).measures == ["Hit@1"]
    Path("own.yaml").write_text("base: bm25\nmeasures: [MRR@10]\ndataset: cranfield\n")
    own = load_config("own.yaml")
    assert (own.measures, own.dataset) == (["MRR@10"], "cranfield")
    monkeypatch.setenv("ASSAY_DATASET", "scifact")
    monkeypatch.setenv("ASSAY_REPORTS", "elsewhere")
    assert load_config("bm25").dataset == "scifact"
    assert reports_folder() == Path("elsewhere")


def test_pyproject_may_hold_it_and_assay_toml_goes_before_and_changes_are_seen():
    project = read('[tool.assay]\ncollection = "scifact"\n', "pyproject.toml")
    assert (project.collection, project.source) == ("scifact", "pyproject.toml, [tool.assay]")
    assert read(WHOLE).source == "assay.toml"
    assert default_dataset() == "harbourline"
    read(WHOLE)
    assert read('reports = "others and more"').reports == "others and more"
    Path("assay.toml").unlink()
    assert reports_folder() == Path("reports")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pipelinez = []", "assay.toml: pipelinez: unknown key; allowed: collection, pipelines, "
         "baseline, measures, reports, held_out; did you mean pipelines?"),
        ('pipelines = "hybrid"', "assay.toml: pipelines: .*list"),
        ("collection = 3", "assay.toml: collection: .*string"),
        ('collection = ""', "assay.toml: collection: "),
        ('measures = ["nDGC@10"]', "assay.toml: measures: .*nDGC@10"),
        ("collection = ", "assay.toml: no TOML: "),
        ("collection = '\udcff'", "assay.toml: no TOML: "),
    ],
)  # fmt: skip
def test_a_wrong_one_is_told_by_file_and_key(text, said):
    Path("assay.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(AssayError, match=said) as caught:
        reports_folder()
    assert caught.value.status == 2


def test_a_wrong_table_is_told_by_its_name():
    Path("pyproject.toml").write_text("[tool.assay]\nbase = 'bm25'\n")
    with pytest.raises(AssayError, match=r"pyproject.toml, \[tool.assay\]: base: unknown key"):
        find_project()
    Path("pyproject.toml").write_text("[tool]\nassay = 3\n")
    with pytest.raises(AssayError, match=r"pyproject.toml, \[tool.assay\]: must be a mapping"):
        find_project()


def test_configs_that_are_not_there_are_told_when_they_are_wanted():
    project = read('pipelines = ["hybird"]\nbaseline = "bm52"\n')
    with pytest.raises(AssayError, match=r"assay.toml: pipelines: hybird: no such config.*hybrid"):
        project.list_pipelines()
    with pytest.raises(AssayError, match=r"assay.toml: baseline: bm52: no such config.*bm25"):
        project.complete(("hybrid",), None)
    with pytest.raises(AssayError, match=r"assay.toml: pipelines: missing; name one"):
        read('collection = "harbourline"\n').list_pipelines()


def test_what_a_comparison_leaves_open_is_completed():
    project = read(WHOLE)
    both = ["hybrid", "native_hybrid@sqlite"]
    assert project.complete((), None) == (both, "bm25")
    assert project.complete(("limit=9",), None) == ([*both, "limit=9"], "bm25")
    assert project.complete((), "semantic") == (both, "semantic")
    assert project.complete(("semantic",), None) == (["semantic"], "bm25")
    assert project.complete(("bm25",), None) == (["bm25"], None)
    assert project.complete(("semantic", "hybrid"), None) == (["semantic", "hybrid"], None)


def test_one_is_written_and_never_over_another(here):
    assert write_project('a "b"\\c', "p/ä.yaml") == Path("assay.toml")
    project = find_project()
    assert (project.collection, project.pipelines) == ('a "b"\\c', ["p/ä.yaml"])
    assert project.baseline == "bm25"
    kept = (here / "assay.toml").read_bytes()
    assert write_project("other", "other.yaml") is None
    assert (here / "assay.toml").read_bytes() == kept
    (here / "assay.toml").unlink()
    (here / "pyproject.toml").write_text("[tool.assay]\n")
    assert write_project("other", "other.yaml") is None
    assert not (here / "assay.toml").exists()
