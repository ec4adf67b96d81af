"""Classes by path or by the name that an installed package gives them."""

import os
import sys

import pytest

from assay.retrievers.base import AssayError, Retriever
from assay.retrievers.settings.plugins import find_parts, load_class, load_part

MODULE = """
from assay.retrievers.base import Retriever

class Mine(Retriever):
    def __init__(self):
        raise RuntimeError("called")
    def index(self, documents): ...
    def search(self, query, k): ...

class Half(Retriever):
    def index(self, documents): ...

class Other: ...

made = Other()

def call(**_):
    raise RuntimeError("called")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with modules good and bad, and an installed package's metadata."""
    (tmp_path / "plugged.py").write_text(MODULE)
    (tmp_path / "plugged_wrong.py").write_text("def f(:\n")
    (tmp_path / "plugged_raising.py").write_text("raise ValueError('no\\nluck')\n")
    (tmp_path / "plugged_leaving.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "plugged_needy.py").write_text("import no_such_library\n")
    metadata = tmp_path / "plugged-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[assay.retrievers]\nmine = plugged:Mine\nother = plugged:Other\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    forget()  # what other tests left under these names
    yield tmp_path
    forget()


def forget():
    for name in [name for name in sys.modules if name.startswith("plugged")]:
        del sys.modules[name]


def test_a_class_and_an_installed_name_are_loaded_and_not_called(here):
    assert load_class("plugged:Mine", Retriever, "retriever.class").__name__ == "Mine"
    assert list(find_parts("assay.retrievers")) == ["mine", "other"]
    assert load_part("assay.retrievers", "mine", Retriever).__name__ == "Mine"


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("plugged", "must be package.module:name"),
        ("plugged:Mine()", "must be package.module:name"),
        ("./plugged:Mine", "must be package.module:name"),
        ("no_such.module:Mine", "no_such.module cannot be imported: No module named 'no_such'"),
        ("plugged_needy:X", "plugged_needy cannot be imported: No module named 'no_such_library'"),
        ("plugged_wrong:X", "plugged_wrong.py, line 1: invalid syntax"),
        ("plugged_raising:X", "plugged_raising cannot be imported: ValueError: no luck"),
        ("plugged_leaving:X", "plugged_leaving cannot be imported: SystemExit: 3"),
        ("plugged:Missing", "plugged has no Missing"),
        ("plugged:mine", "plugged has no mine; did you mean Mine?"),
        ("plugged:made", "no class"),
        ("plugged:call", "a function, no class"),
        ("os:system", "no class"),
        ("plugged:Other", "no subclass of assay.retrievers.base.Retriever"),
        ("plugged:Half", "does not define search"),
    ],
)
def test_what_is_no_such_class_is_told(here, path, problem):
    with pytest.raises(AssayError) as told:
        load_class(path, Retriever, "retriever.class")
    assert str(told.value).startswith(f"retriever.class: {path}: ")
    assert str(told.value).endswith(problem)
    assert "\n" not in str(told.value)


def test_a_wrong_installed_part_is_told(here):
    with pytest.raises(AssayError, match=r"assay\.retrievers: other: .*no subclass of"):
        load_part("assay.retrievers", "other", Retriever)
    with pytest.raises(AssayError, match="no: not installed; there are: mine, other"):
        load_part("assay.retrievers", "no", Retriever)


def test_one_name_for_two_classes_is_told_once_the_second_is_installed(here):
    os.utime(here, (0, 0))  # the clock of the file system may be a coarse one
    assert "mine" in find_parts("assay.retrievers")
    metadata = here / "second-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: second\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[assay.retrievers]\nmine = second:Mine\n")
    with pytest.raises(AssayError, match=r"two packages call a part mine: .*second:Mine"):
        find_parts("assay.retrievers")
