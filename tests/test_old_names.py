"""Modules imported by the names they had before the package was called `assay`."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.processes import ROOT

from assay.old_names import MOVED
from examples.word_overlap import WordOverlap

SAME = """
import assay
from retrievers.base import Retriever
from assay.retrievers import base
from eval.scoring.own import OwnMeasure
from assay.eval.scoring import own
from retrievers.ranking import Scored
from retrievers.corpus import Corpus
print(Retriever is base.Retriever, OwnMeasure is own.OwnMeasure, base.__spec__.name)
"""
THEIRS = """
import assay
from retrievers import WHOSE
print(WHOSE)
"""
UNKNOWN = "import assay, retrievers.nonsense"
PLUGIN = """
from retrievers.base import IndexReport, Ranking, Retriever
class Nothing(Retriever):
    def index(self, documents): return IndexReport(0)
    def search(self, query, k): return Ranking(())
"""


def execute(code: str, folder: Path, path: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("inside", [True, False])
def test_a_module_has_one_identity_by_either_name(inside: bool, tmp_path: Path) -> None:
    done = execute(SAME, ROOT if inside else tmp_path)
    assert done.stdout.split() == ["True", "True", "assay.retrievers.base"], done.stderr
    assert done.stderr.count("`retrievers.base` is now `assay.retrievers.base`") == 1
    assert "`retrievers` is now" not in done.stderr


def test_a_package_of_the_users_own_comes_first(tmp_path: Path) -> None:
    (tmp_path / "retrievers").mkdir()
    (tmp_path / "retrievers/__init__.py").write_text("WHOSE = 'theirs'\n")
    done = execute(THEIRS, tmp_path)
    assert done.stdout == "theirs\n", done.stderr
    assert "FutureWarning" not in done.stderr


def test_a_module_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = execute(UNKNOWN, tmp_path)
    assert "No module named 'assay.retrievers.nonsense'" in done.stderr


def test_a_plugin_with_old_names_is_judged(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    code = "import assay; from assay.retrievers.settings.plugins import load_class\n"
    code += "from assay.retrievers.base import Retriever\n"
    code += "print(load_class('plugin:Nothing', Retriever, 'x').__name__)\n"
    code += "load_class('retrievers.base:AssayError', Exception, 'x')"
    done = execute(code, tmp_path)
    assert done.stdout.split()[0] == "Nothing", done.stderr


@pytest.mark.parametrize("old", MOVED)
def test_a_module_that_went_into_a_package_is_found(old: str) -> None:
    assert importlib.util.find_spec(MOVED[old])
    assert not importlib.util.find_spec(f"assay.{old}") or f"assay.{old}" in MOVED[old]


def test_without_links_the_folders_are_found(tmp_path: Path) -> None:
    """As Git writes them on Windows: files that hold where they lead."""
    (tmp_path / "assay").mkdir()
    for name in ("__init__.py", "old_names.py", "start.py"):
        (tmp_path / "assay" / name).write_text((ROOT / "assay" / name).read_text())
    for name in ("eval", "retrievers"):
        (tmp_path / "assay" / name).write_text(f"../{name}")
        (tmp_path / name).symlink_to(ROOT / name)
    code = "import assay, assay.retrievers.base as base; print(base.__file__); assay.run"
    done = execute(code, tmp_path, str(tmp_path))
    assert done.stdout == f"{tmp_path}/retrievers/base/__init__.py\n", done.stderr


def test_a_retriever_with_facts_is_still_identified_by_them() -> None:
    class Older(WordOverlap):
        def facts(self) -> dict[str, str]:
            return {"digest": "abc"}

    with pytest.warns(FutureWarning, match=r"Older\.facts\(\) is now called metadata\(\)"):
        assert Older().metadata() == {"digest": "abc"}
