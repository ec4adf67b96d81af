"""What lets another repository's CI run the gate: its workflow, and what git shall not keep."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from assay.eval.collections.location import find_repository
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

GITHUB = """\
# Judges every pull request against the baselines in reports/baselines, which
# `assay baseline accept RUN` writes. A regression fails the job. On the default branch the
# baselines move on with the collection, in a commit of their own.
name: Assay

on:
  pull_request:
  push:

permissions:
  contents: read

jobs:
  gate:
    if: >-
      github.event_name == 'pull_request' ||
      github.ref_name == github.event.repository.default_branch
    runs-on: ubuntu-latest
    timeout-minutes: 30
    env:
      # What pip installs: Assay at a git address with its commit, a wheel in this repository, or a
      # name and version on an index of yours. Assay is on no public package index.
      ASSAY_PACKAGE: {package}
      ASSAY_CACHE: ${{{{ github.workspace }}}}/.assay/cache
      ACCEPT: ${{{{ github.event_name == 'push' && '--accept-corpus' || '' }}}}
    steps:
      - uses: actions/checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0
        with:
          # All commits and branches: --base origin/main and `assay dataset sync --since` need them.
          fetch-depth: 0
          persist-credentials: false
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0
        with:
          python-version: "3.11"
      - uses: actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830 # v4.3.0
        with:
          path: .assay/cache/models
          key: assay-models-{version}
      - run: pip install "${{ASSAY_PACKAGE:?say above what pip is to install}}"
      - run: assay gate {pipeline} $ACCEPT --github --junit assay-gate.xml --markdown assay-gate.md
      - if: github.event_name == 'push'
        run: |
          git add --all -- reports/baselines
          git diff --cached --binary > assay-accepted.patch
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
        if: always()
        with:
          name: assay-gate
          path: assay-*.*

  # The only job that may write runs nothing but git.
  accept:
    if: github.event_name == 'push'
    needs: gate
    runs-on: ubuntu-latest
    permissions:
      contents: write
    steps:
      - uses: actions/checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0
      - uses: actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093 # v4.3.0
        with:
          name: assay-gate
      - run: |
          test -s assay-accepted.patch || exit 0
          git apply --index assay-accepted.patch
          git -c user.name=assay -c user.email=assay@localhost commit -m "Baselines of the changed collection"
          git push
"""  # noqa: E501

GITLAB = """\
# Judges every merge request against the baselines in reports/baselines, which
# `assay baseline accept RUN` writes. A regression fails the job. On the default branch the
# baselines move on with the collection; GATE_TOKEN, a project access token that may write the
# repository, lets the job push them.
assay-gate:
  image: python:3.11
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      variables:
        ACCEPT: --accept-corpus
  variables:
    # What pip installs: Assay at a git address with its commit, a wheel in this repository, or a
    # name and version on an index of yours. Assay is on no public package index.
    ASSAY_PACKAGE: {package}
    ASSAY_CACHE: $CI_PROJECT_DIR/.assay/cache
    ACCEPT: ""
    # All commits: --base REVISION and `assay dataset sync --since` need them.
    GIT_DEPTH: "0"
  cache:
    key: assay-models-{version}
    paths: [.assay/cache/models]
  script:
    - pip install "${{ASSAY_PACKAGE:?say above what pip is to install}}"
    - assay gate {pipeline} $ACCEPT --junit assay-gate.xml --markdown assay-gate.md
    - |
      if [ -n "$ACCEPT" ] && [ -n "$GATE_TOKEN" ]; then
        git add --all -- reports/baselines
        git diff --cached --quiet && exit 0
        git -c user.name=assay -c user.email=assay@localhost commit -m "Baselines of the changed collection"
        git push -o ci.skip "https://gate:$GATE_TOKEN@$CI_SERVER_HOST/$CI_PROJECT_PATH.git" "HEAD:$CI_DEFAULT_BRANCH"
      fi
  artifacts:
    when: always
    paths: [assay-gate.md, reports/baselines]
    reports:
      junit: assay-gate.xml
"""  # noqa: E501

TEST_FILE = Path("tests/test_retrieval.py")
TEST = '''\
"""Retrieval is no worse than its accepted baseline."""


def test_retrieval(retrieval):
    # First accept a run: `assay run {pipeline}`, then `assay baseline accept RUN`.
    retrieval({quoted}).no_worse_than_baseline()
'''

INCLUDE = "include:\n  - local: .gitlab/assay.yml\n"
# By the CI's name: the file of its job, and what the file holds.
JOBS = {
    "github": (".github/workflows/assay.yml", GITHUB),
    "gitlab": (".gitlab/assay.yml", GITLAB),
}


def plan_workflow(ci: str, pipeline: Path, force: bool) -> dict[Path, str]:
    """Return the files, and their texts, with which `ci` gates the config at `pipeline`.

    That is the job, and .gitignore with what it lacks; for GitLab a .gitlab-ci.yml too where there
    is none. Raises AssayError outside the root of a repository, for a config that lies outside it,
    and, without `force`, where the job is there already.
    """
    home = find_repository(Path.cwd())
    if home is None:
        raise AssayError(f"--ci: {Path.cwd()} is in no git repository; `git init` makes one")
    if home != Path.cwd():
        raise AssayError(f"--ci: must be given in the root of the repository, {home}")
    if not pipeline.resolve().is_relative_to(home):
        raise AssayError(f"--ci: {pipeline} lies outside the repository {home}; say --output")
    name, template = JOBS[ci]
    if Path(name).exists() and not force:
        raise AssayError(f"{name}: is there already; --force overwrites it")
    job = template.format(
        package=json.dumps(find_package(home)),
        version=find_version(),
        pipeline=shlex.quote(Path(os.path.relpath(pipeline.resolve(), home)).as_posix()),
    )
    files = {Path(name): job}
    if ci == "gitlab" and not Path(".gitlab-ci.yml").exists():
        files[Path(".gitlab-ci.yml")] = INCLUDE
    if ignored := _extend_ignored(Path(".gitignore")):
        files[Path(".gitignore")] = ignored
    return files


def plan_test(pipeline: Path, force: bool) -> dict[Path, str]:
    """Return the file, and its text, in which pytest gates the config at `pipeline`.

    Raises AssayError for a config that lies outside the working folder, and, without `force`, where
    the file is there already.
    """
    here = Path.cwd()
    if not pipeline.resolve().is_relative_to(here):
        raise AssayError(f"--pytest: {pipeline} lies outside the working folder; say --output")
    if TEST_FILE.exists() and not force:
        raise AssayError(f"{TEST_FILE}: is there already; --force overwrites it")
    named = Path(os.path.relpath(pipeline.resolve(), here)).as_posix()
    return {TEST_FILE: TEST.format(pipeline=shlex.quote(named), quoted=json.dumps(named))}


def describe_package(ci: str, home: Path) -> str:
    """Say what the job installs Assay from, or that it must be set first."""
    if package := find_package(home):
        return f"the job installs Assay from: {package}"
    return (
        f"set ASSAY_PACKAGE in {JOBS[ci][0]}, or the job fails: Assay is on no package index. "
        "Give a git address of Assay with a commit, or the path of a wheel that you commit"
    )


def write_workflow(files: Mapping[Path, str]) -> None:
    """Write what `plan_workflow` returned."""
    for path, text in files.items():
        write_atomically(path, text.encode())


def _extend_ignored(path: Path) -> str:
    """Return the text of .gitignore with what it lacks; empty where it lacks nothing."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lacking = [line for line in IGNORED if line not in text.splitlines()]
    if not lacking:
        return ""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}" + "".join(f"{line}\n" for line in lacking)
