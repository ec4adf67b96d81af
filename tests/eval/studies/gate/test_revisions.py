"""Files at a revision of git, and what is said where there is none."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from assay.eval.studies.gate.baseline_pipeline import extract, find_commit, opened
from assay.retrievers.base import AssayError

JUDGED = {"query_id": "q1", "path": "a.md", "start": 0, "end": 4, "text": "One.", "grade": 1}


@pytest.fixture
def git(tmp_path, monkeypatch):
    """A repository with a collection whose documents lie beside its folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    call("init", "-b", "main")
    for folder in ("docs", "judged"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs/a.md").write_text("One. Two.")
    card = "name: judged\ntitle: J\nformat: native\ndocuments: ../docs\n"
    (tmp_path / "judged/dataset.yaml").write_text(card)
    (tmp_path / "judged/queries.jsonl").write_text('{"_id": "q1", "text": "What?"}\n')
    (tmp_path / "judged/judgments.jsonl").write_text(json.dumps(JUDGED) + "\n")
    call("add", ".")
    call("commit", "-m", "made")
    return call


@pytest.fixture
def clone(git, tmp_path, monkeypatch):
    """Return what clones the repository, at a branch of two commits, and works in the clone."""
    for name in ("first", "second"):
        git("commit", "--allow-empty", "-m", name)
    git("checkout", "-b", "feature")
    git("commit", "--allow-empty", "-m", "third")

    def make(*options):
        git("clone", *options, "--branch", "feature", f"file://{tmp_path}", "clone")
        monkeypatch.chdir(tmp_path / "clone")

    return make


@pytest.mark.parametrize("revision", ["main", "HEAD~1"])
def test_a_shallow_clone_is_named_with_the_way_out(clone, revision):
    clone("--depth", "1")
    for asked in (lambda: find_commit(Path.cwd(), revision), lambda: enter(opened(revision))):
        with pytest.raises(AssayError) as raised:
            asked()
        assert f"unknown revision '{revision}'; this clone is shallow" in str(raised.value)
        assert "`fetch-depth: 0`" in str(raised.value)


def enter(context):
    with context:
        pass


def test_a_branch_that_only_the_remote_has_is_suggested(clone):
    clone()
    with pytest.raises(AssayError, match=r"unknown revision 'main'; there is origin/main$"):
        find_commit(Path.cwd(), "main")
    assert find_commit(Path.cwd(), "origin/main") == find_commit(Path.cwd(), "HEAD~1")
    with pytest.raises(AssayError, match=r"unknown revision 'nothing'$"):
        find_commit(Path.cwd(), "nothing")


def test_gits_own_reason_is_shown(git, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with pytest.raises(AssayError, match=r"--base: main: .*dubious ownership.*safe\.directory"):
        enter(opened("main"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(AssayError, match="not a git repository"):
        find_commit(tmp_path / "elsewhere", "main")


def test_a_link_that_leads_out_of_a_revision_is_refused(git, tmp_path):
    Path("docs/b.md").symlink_to("/etc/passwd")
    git("add", ".")
    git("commit", "-m", "link")
    with pytest.raises(AssayError, match="cannot be written out"):
        extract(tmp_path, "HEAD", tmp_path / "out")
