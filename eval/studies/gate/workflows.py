"""Files that let another repository's CI run the gate: the workflow, .gitignore and a test."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from assay.eval.collections.location import find_repository
from assay.eval.configs.config import load_config
from assay.eval.configs.project import read_project
from assay.eval.studies.gate.package_source import find_package
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import find_version
from assay.retrievers.store.files import write_atomically

IGNORED = (
    "reports/*",
    "!reports/baselines/",
    "mlflow.db*",
    "mlruns/",
    ".assay/",
    "assay-gate.xml",
    "assay-gate.md",
    "assay-accepted.patch",
)

TEST_FILE = Path("tests/test_retrieval.py")
TEST = '''\
"""Retrieval is no worse than its accepted baseline."""


def test_retrieval(retrieval):
    # First accept a run: `assay run {pipeline}`, then `assay baseline accept RUN`.
    retrieval({quoted}).no_worse_than_baseline()
'''

INCLUDE = "include:\n  - local: .gitlab/assay.yml\n"
# The types of retrievers that are the repository's own code.
OWN_CODE = ("python", "langchain", "llamaindex", "haystack")
# The file of the job by the name of the CI; jobs/ has the text.
JOBS = {"github": ".github/workflows/assay.yml", "gitlab": ".gitlab/assay.yml"}


def plan_workflow(ci: str, pipeline: Path | None, force: bool) -> dict[Path, str]:
    """Return the files, and their texts, with which `ci` gates the config at `pipeline`.

    Without one the job gates the pipelines that the project file names. If one is the repository's
    own code, the job installs what it needs. The files are the job, and .gitignore with the lines
    it lacks; for GitLab also a .gitlab-ci.yml if there is none. Raises AssayError outside the root
    of a repository, for a config outside it, and, without `force`, if the job exists already.
    """
    home = find_repository(Path.cwd())
    if home is None:
        raise AssayError(f"--ci: {Path.cwd()} is in no git repository; `git init` makes one")
    if home != Path.cwd():
        raise AssayError(f"--ci: must be given in the root of the repository, {home}")
    if pipeline and not pipeline.resolve().is_relative_to(home):
        raise AssayError(f"--ci: {pipeline} lies outside the repository {home}; say --output")
    name = JOBS[ci]
    if Path(name).exists() and not force:
        raise AssayError(f"{name}: is there already; --force overwrites it")
    named = os.path.relpath(pipeline.resolve(), home) if pipeline else ""
    job = resources.files(__package__).joinpath(f"jobs/{ci}.yml").read_text(encoding="utf-8")
    for mark, text in (
        ("@PACKAGE@", json.dumps(find_package(home))),
        ("@VERSION@", find_version()),
        (" @PIPELINE@", f" {shlex.quote(Path(named).as_posix())}" if named else ""),
        (" @NEEDS@", find_needs(list_own(pipeline), home)),
    ):
        job = job.replace(mark, text)
    files = {Path(name): job}
    if ci == "gitlab" and not Path(".gitlab-ci.yml").exists():
        files[Path(".gitlab-ci.yml")] = INCLUDE
    if ignored := _extend_ignored(Path(".gitignore")):
        files[Path(".gitignore")] = ignored
    return files


def list_own(pipeline: Path | None) -> list[str]:
    """Return the configs, the one at `pipeline` or the project's, whose retriever is own code."""
    project = read_project()
    named = [str(pipeline)] if pipeline else project.list_pipelines() if project else []
    configs = [name for name in named if not Path(name).suffix or Path(name).is_file()]
    return [name for name in configs if load_config(name).retriever.type in OWN_CODE]


def find_needs(own: Sequence[str], home: Path) -> str:
    """Return the arguments of pip that install what own code needs; "" for no code, or no file."""
    if own and (home / "requirements.txt").is_file():
        return " -r requirements.txt"
    return " ." if own and (home / "pyproject.toml").is_file() else ""


def plan_test(pipeline: Path, force: bool) -> dict[Path, str]:
    """Return the file, and its text, in which pytest gates the config at `pipeline`.

    Raises AssayError for a config outside the working folder, and, without `force`, if the file
    exists already.
    """
    here = Path.cwd()
    if not pipeline.resolve().is_relative_to(here):
        raise AssayError(f"--pytest: {pipeline} lies outside the working folder; say --output")
    if TEST_FILE.exists() and not force:
        raise AssayError(f"{TEST_FILE}: is there already; --force overwrites it")
    named = Path(os.path.relpath(pipeline.resolve(), here)).as_posix()
    return {TEST_FILE: TEST.format(pipeline=shlex.quote(named), quoted=json.dumps(named))}


def describe_package(ci: str, home: Path) -> str:
    """Return a sentence on the package that the job installs, or that it must be set first."""
    if package := find_package(home):
        return f"the job installs Assay from: {package}"
    return (
        f"set ASSAY_PACKAGE in {JOBS[ci]}, or the job fails: Assay is on no package index. "
        "Give a git address of Assay with a commit, or the path of a wheel that you commit"
    )


def write_workflow(files: Mapping[Path, str]) -> None:
    """Write the files that `plan_workflow` returned."""
    for path, text in files.items():
        write_atomically(path, text.encode())


def _extend_ignored(path: Path) -> str:
    """Return the text of .gitignore with the lines it lacks; "" if it lacks none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lacking = [line for line in IGNORED if line not in text.splitlines()]
    if not lacking:
        return ""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}" + "".join(f"{line}\n" for line in lacking)
