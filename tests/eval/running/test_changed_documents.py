"""Documents that are edited while a run is made."""

import os
import shutil
from typing import TypeVar

from tools.processes import ROOT

from assay.eval.configs.config import load_config
from assay.eval.running.run import make_run
from assay.retrievers.base import Quiet

T = TypeVar("T")


class Editing(Quiet):
    """Edits a document as soon as queries are searched."""

    def __init__(self, file):
        self._file = file
        self.said = []

    def say(self, message):
        self.said.append(message)

    def track(self, items, label, total):
        if label == "searching":
            self._file.write_text("# Another\n")
        yield from items


def test_a_run_tells_which_documents_changed_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    folder = tmp_path / "ferry"
    shutil.copytree(ROOT / "datasets/harbourline", folder)
    first, of_the_future, *_ = sorted((folder / "docs").rglob("*.md"))
    os.utime(of_the_future, (2**32, 2**32))  # as where the clock went back
    progress = Editing(first)
    make_run(load_config("bm25", [f"dataset={folder}"]), False, progress)
    (line,) = [line for line in progress.said if "changed during" in line]
    assert f"changed during the run: {first.relative_to(folder)};" in line
    again = Editing(tmp_path / "elsewhere.md")
    make_run(load_config("bm25", ["dataset=harbourline"]), True, again)
    assert not [line for line in again.said if "changed during" in line]
