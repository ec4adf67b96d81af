"""A repository that has packages `eval` and `retrievers` of its own, as a user's may."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from samples.small_project import write_project
from tools.processes import ASSAY
from tools.project_files import declare_committed

pytestmark = pytest.mark.slow

THEIRS = "raise RuntimeError('this is no package of Assay')\n"
PLUGIN = """
from assay.retrievers.base import IndexReport, Ranking, Retriever
class Nothing(Retriever):
    def index(self, documents): return IndexReport(0)
    def search(self, query, k): return Ranking(())
"""


def git(folder, *words):
    named = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Such a repository, with a plugin in its root and another checkout of it in `base`."""
    folder = tmp_path_factory.mktemp("own") / "repository"
    folder.mkdir()
    write_project(folder)
    for name in ("eval", "retrievers"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(THEIRS)
    config = (folder / "mine.yaml").read_text()
    (folder / "mine.yaml").write_text(config.replace("queries: 0", "queries: 6, seconds: 1"))
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "plugged.yaml").write_text(
        "name: plugged\ndataset: mine\nretriever: {type: python, class: 'plugin:Nothing'}\n"
    )
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "all")
    git(folder, "worktree", "add", "../base")
    return folder


def call(repository, *words):
    """Call the command line there."""
    return subprocess.run(
        [sys.executable, ASSAY, *words],
        cwd=repository,
        env=os.environ | {"ASSAY_REPORTS": "reports", "ASSAY_TRUST": "", "GITHUB_ACTIONS": ""},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def baseline(repository):
    done = call(repository, "run", "mine.yaml", "--no-track", "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    declare_committed(repository / "reports")
    accepted = call(repository, "baseline", "accept", run)
    assert accepted.returncode == 0, accepted.stderr


@pytest.mark.parametrize("base", ["../base", "plugged.yaml"])
def test_the_gate_times_what_is_installed(repository, baseline, base):
    done = call(repository, "gate", "mine.yaml", "--base", base, "--json")
    assert done.stdout, done.stderr
    latency = json.loads(done.stdout)["latency"]
    assert [item["percentile"] for item in latency] == [50, 95]


@pytest.mark.long
@pytest.mark.skipif(not find_spec("ray"), reason="needs the extra `ray`")
@pytest.mark.parametrize("config", ["second.yaml", "plugged.yaml"])
def test_workers_of_ray_find_what_is_installed(repository, config):
    done = call(repository, "run", config, "--ray", "local", "--no-track", "--json", "--rerun")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]
