"""What a CI job installs: from where this Assay came, if another machine can reach that."""

import json
import subprocess

import pytest
from packaging.requirements import Requirement

from assay.eval.studies.gate import package_source
from assay.eval.studies.gate.package_source import find_package

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = {"vcs": "git", "commit_id": COMMIT}
WHEEL = "retrieval_assay-9.1-py3-none-any.whl"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The metadata of an installed version 9.1, which come before those of this checkout."""
    folder = tmp_path / "site/retrieval_assay-9.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: retrieval-assay\nVersion: 9.1\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(package_source, "find_checkout", lambda: None)
    monkeypatch.setattr(package_source, "find_version", lambda: "9.1")
    return folder


@pytest.mark.parametrize(
    ("url", "info", "expected"),
    [
        ("", {}, "retrieval-assay==9.1"),
        ("https://me:token@git.example.org/assay.git", {"vcs_info": GIT},
         f"retrieval-assay @ git+https://git.example.org/assay.git@{COMMIT}"),
        ("ssh://git@git.example.org/assay.git", {"vcs_info": GIT},
         f"retrieval-assay @ git+ssh://git@git.example.org/assay.git@{COMMIT}"),
        ("file:///srv/assay.git", {"vcs_info": GIT}, ""),
        ("https://hg.example.org/assay", {"vcs_info": GIT | {"vcs": "hg"}}, ""),
        (f"https://files.example.org/{WHEEL}", {"archive_info": {"hashes": {"sha256": "ab12"}}},
         f"retrieval-assay @ https://files.example.org/{WHEEL}#sha256=ab12"),
        (f"file:///elsewhere/{WHEEL}", {"archive_info": {}}, ""),
        ("file:///elsewhere/assay", {"dir_info": {"editable": True}}, ""),
    ],
)  # fmt: skip
def test_what_it_was_installed_from(url, info, expected, installed, tmp_path):
    if url:
        (installed / "direct_url.json").write_text(json.dumps({"url": url, **info}))
    assert find_package(tmp_path) == expected
    if expected:
        assert Requirement(expected).name == "retrieval-assay"


def test_a_wheel_in_the_repository_is_named_by_its_path(installed, tmp_path):
    wheel = tmp_path / "their repository/vendor" / WHEEL
    origin = {"url": wheel.as_uri(), "archive_info": {}}
    (installed / "direct_url.json").write_text(json.dumps(origin))
    assert find_package(tmp_path / "their repository") == "", "it is there no longer"
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    assert find_package(tmp_path / "their repository") == f"./vendor/{WHEEL}"


def git(folder, *arguments):
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_checkout_is_named_by_a_commit_that_its_remote_has(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "one")
    monkeypatch.setattr(package_source, "find_checkout", lambda: tmp_path)
    assert find_package(tmp_path) == "", "it has no remote"
    git(tmp_path, "remote", "add", "origin", "git@git.example.org:team/assay.git")
    assert find_package(tmp_path) == "", "the remote is not known to have the commit"
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    commit = git(tmp_path, "rev-parse", "HEAD")
    named = f"retrieval-assay @ git+ssh://git@git.example.org/team/assay.git@{commit}"
    assert find_package(tmp_path) == named
    git(tmp_path, "remote", "set-url", "origin", "/srv/assay.git")
    assert find_package(tmp_path) == "", "another machine does not have that folder"
