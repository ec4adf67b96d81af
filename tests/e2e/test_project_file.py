"""A folder with a project file: commands need no path there, and what is given goes before."""

import json
import shutil

import pytest
from tools.processes import ROOT, finish, start

SAID = "settings from assay.toml\n"


@pytest.fixture
def call(tmp_path):
    """Call `assay` in a folder of its own, in which the environment names no place."""
    free = {"ASSAY_DATASET": "", "ASSAY_REPORTS": "", "MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"}

    def run(*arguments, **environment):
        return finish(start(*arguments, environment=free | environment, folder=tmp_path))

    return run


def test_documents_and_questions_become_a_folder_that_needs_no_arguments(call, tmp_path):
    shutil.copytree(ROOT / "examples/allotment", tmp_path / "docs")
    shutil.copy(ROOT / "examples/questions.csv", tmp_path)
    made = call("init", "docs", "--questions", "questions.csv")
    assert made.returncode == 0, made.stderr
    assert "project:  assay.toml" in made.stdout
    assert "assay run\n" in made.stdout
    kept = (tmp_path / "assay.toml").read_bytes()

    ran = call("run", "latency.queries=0", "--no-track", "--json")
    assert ran.returncode == 0, ran.stderr
    assert SAID in ran.stderr
    found = json.loads(ran.stdout)
    assert (found["config"], found["collection"]) == ("contextual", "docs")

    compared = call("compare", "latency.queries=0", "--no-track", "--json")
    assert compared.returncode == 0, compared.stderr
    assert SAID in compared.stderr
    found = json.loads(compared.stdout)
    assert found["base"]["config"] == "bm25"
    assert [other["config"] for other in found["others"]] == ["contextual"]

    gated = call("gate", "latency.queries=0")
    assert gated.returncode == 2
    assert gated.stderr.startswith(SAID)
    assert "reports/baselines/contextual@docs.json: no baseline" in gated.stderr

    again = call("init", "docs", "--questions", "questions.csv", "--force", "--json")
    assert json.loads(again.stdout)["project"] is None
    assert (tmp_path / "assay.toml").read_bytes() == kept


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(call, tmp_path):
    (tmp_path / "assay.toml").write_text(
        'collection = "tarnwick"\npipelines = ["hybrid", "bm25"]\nreports = "found"\n'
        'measures = ["MRR@10"]\n'
    )
    quick = ("limit=5", "latency.queries=0", "--no-track", "--json")
    ran = call("run", "--dataset", "harbourline", *quick)
    assert ran.returncode == 0, ran.stderr
    runs = json.loads(ran.stdout)["runs"]
    assert [(run["config"], run["collection"]) for run in runs] == [
        ("hybrid", "harbourline"),
        ("bm25", "harbourline"),
    ]
    assert {tuple(run["measures"]) for run in runs} == {("MRR@10",)}
    assert all((tmp_path / "found" / run["run"]).is_dir() for run in runs)

    one = call("run", "bm25", *quick, ASSAY_DATASET="harbourline", ASSAY_REPORTS="mine")
    found = json.loads(one.stdout)
    assert (found["config"], found["collection"]) == ("bm25", "harbourline")
    assert (tmp_path / "mine" / found["run"]).is_dir()


@pytest.mark.parametrize("command", ["run", "compare", "gate", "choose"])
def test_without_a_file_something_must_be_named_and_a_wrong_one_is_told(call, tmp_path, command):
    done = call(command)
    assert done.returncode == 2
    assert "Missing argument" in done.stderr
    assert "in assay.toml" in done.stderr
    (tmp_path / "assay.toml").write_text("base = 'bm25'\n")
    done = call(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "assay: assay.toml: base: unknown key; allowed: collection, pipelines, baseline, "
        "measures, reports, held_out; did you mean baseline?\n"
    )


def test_gates_of_several_share_no_file(call, tmp_path):
    (tmp_path / "assay.toml").write_text('pipelines = ["bm25", "hybrid"]\n')
    done = call("gate", "--junit", "gate.xml")
    assert done.returncode == 2
    assert "--junit, --markdown: a file is of one gate; name one of the pipelines" in done.stderr


@pytest.mark.slow
def test_assay_alone_says_where_the_project_stands_and_what_is_next(call, tmp_path):
    shutil.copytree(ROOT / "examples/allotment", tmp_path / "docs")
    shutil.copy(ROOT / "examples/questions.csv", tmp_path)
    assert "Usage: assay" in call().stderr, "there is no project yet"
    call("init", "docs", "--questions", "questions.csv")
    expected = {
        "": ("pipeline  datasets/docs/pipeline.yaml: not run", "next    assay run\n"),
        "run": (": 1 run, the last on ", "next    assay compare\n"),
        "compare": ("compared  ", "next    assay baseline accept contextual-docs-"),
    }
    for command, lines in expected.items():
        if command:
            done = call(command, "--json")
            assert done.returncode == 0, done.stderr
        shown = call()
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith("assay.toml: docs\n")
        for line in lines:
            assert line in shown.stdout
    (tmp_path / "assay.toml").write_text('collection = "docs"\npipelines = ["nowhere.yaml"]\n')
    lost = call()
    assert lost.returncode == 2
    assert lost.stderr.startswith("assay: assay.toml: pipelines: nowhere.yaml")
