"""`assay init --ci`: a job that gates the pipeline, and the paths within a repository."""

import subprocess

import pytest
import yaml
from test_init import PHONE, ask, enter, make, refuse, run


@pytest.fixture
def repository(tmp_path, monkeypatch):
    enter(tmp_path, monkeypatch)
    (tmp_path / ".git").mkdir()
    ask(PHONE)
    return tmp_path


def test_paths_are_relative_within_a_repository(repository, monkeypatch):
    (repository / "tools").mkdir()
    monkeypatch.chdir(repository / "tools")
    monkeypatch.setenv("ASSAY_TRUST", "1")  # what is named lies beside the working folder
    make("../my-docs", "--questions", "../questions.csv", "--output", "../judged")
    card = yaml.safe_load((repository / "judged/dataset.yaml").read_text())
    assert card["documents"] == "../my-docs"
    pipeline = yaml.safe_load((repository / "judged/pipeline.yaml").read_text())
    assert pipeline["dataset"] == "../judged"


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_a_job_gates_the_pipeline(ci, repository):
    (repository / ".gitignore").write_text("mlruns/\n*.tmp")
    make("my-docs", "--questions", "questions.csv", "--ci", ci)
    ignored = (repository / ".gitignore").read_text().splitlines()
    assert ignored[:3] == ["mlruns/", "*.tmp", "reports/*"]
    assert len(set(ignored)) == len(ignored)
    if ci == "github":
        job = yaml.safe_load((repository / ".github/workflows/assay.yml").read_text())
        steps = job["jobs"]["gate"]["steps"]
        commands = [step["run"] for step in steps if "run" in step]
        assert steps[0]["with"]["fetch-depth"] == 0
    else:
        (include,) = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["include"]
        gate = yaml.safe_load((repository / include["local"]).read_text())["assay-gate"]
        commands = gate["script"]
        assert gate["variables"]["GIT_DEPTH"] == "0"
    assert commands[0].startswith('pip install "${ASSAY_PACKAGE:?')
    refused = subprocess.run(
        ["bash", "-c", commands[0]], env={"ASSAY_PACKAGE": ""}, capture_output=True, text=True
    )
    assert refused.returncode
    assert "ASSAY_PACKAGE: say above what pip is to install" in refused.stderr
    assert commands[1].startswith("assay gate datasets/my-docs/pipeline.yaml ")


def test_a_job_gates_what_is_there_already(repository):
    make("my-docs", "--questions", "questions.csv")
    job = repository / ".github/workflows/assay.yml"
    for asked in ("datasets/my-docs",), ():  # assay.toml says the same of both
        told = make(*asked, "--ci", "github", "--force")
        assert "To arm the gate: `assay run`, then `assay baseline accept RUN`" in told
        assert "run: assay gate $ACCEPT" in job.read_text()
    (repository / "assay.toml").unlink()
    make("datasets/my-docs", "--ci", "github", "--force")
    assert "run: assay gate datasets/my-docs/pipeline.yaml $ACCEPT" in job.read_text()
    refusals = {
        ("datasets/my-docs",): "is a collection already; allowed: --ci or --pytest",
        (): "Missing argument 'FOLDER'",
        ("--ci", "github"): "names no pipeline to gate",
    }
    for asked, told in refusals.items():
        assert told in str(run(*asked).exception)


@pytest.mark.parametrize(
    ("files", "installed"),
    [
        (["requirements.txt", "pyproject.toml"], " -r requirements.txt"),
        (["pyproject.toml"], " ."),
        ([], ""),
    ],
)
def test_a_job_installs_what_code_of_the_repository_needs(repository, files, installed):
    (repository / "mine.yaml").write_text(
        'name: mine\nretriever: {type: python, class: "mine:Mine"}\n'
    )
    (repository / "assay.toml").write_text('collection = "my-docs"\npipelines = ["mine.yaml"]\n')
    for name in files:
        (repository / name).touch()
    told = make("--ci", "github")
    job = yaml.safe_load((repository / ".github/workflows/assay.yml").read_text())
    (install,) = [
        step["run"] for step in job["jobs"]["gate"]["steps"] if "pip install" in step.get("run", "")
    ]
    assert (
        install == f'pip install "${{ASSAY_PACKAGE:?say above what pip is to install}}"{installed}'
    )
    assert ("mine.yaml is code of yours" in told) == (not files)


def test_a_job_that_is_there_is_kept_and_nothing_written(repository):
    job = repository / ".github/workflows/assay.yml"
    job.parent.mkdir(parents=True)
    job.write_text("mine\n")
    told = refuse("my-docs", "--questions", "questions.csv", "--ci", "github")
    assert "assay.yml: is there already; --force overwrites it" in told
    assert job.read_text() == "mine\n"
    assert not (repository / "datasets").exists()
    assert not (repository / ".gitignore").exists()


def test_a_job_needs_the_root_of_a_repository(repository, monkeypatch):
    monkeypatch.chdir(repository / "my-docs")
    assert "must be given in the root of the repository" in refuse("sub", "--ci", "github")
    assert not (repository / "my-docs/datasets").exists()
