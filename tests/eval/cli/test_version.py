"""How Assay was installed: the version, in a checkout its commit, and hints that follow."""

import subprocess
import sys

from tools.processes import ROOT

from assay.eval.cli.output import print_places
from assay.retrievers.base.installation import find_version, hint_extra


def test_the_version_names_the_commit(tmp_path):
    call = [sys.executable, "-c", "from assay.eval.cli.main import main; main(['--version'])"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=ROOT)
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=7", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    assert done.stdout.startswith(
        f"assay, version {find_version()}{f' (commit {head}' if head else ''}"
    )
    assert f"version: {find_version()}\n" in (ROOT / "CITATION.cff").read_text()


def test_hints_at_make_fit_the_folder_they_are_read_in(tmp_path, monkeypatch, capsys):
    told = []
    for folder in (ROOT, tmp_path):
        monkeypatch.chdir(folder)
        print_places(mlflow_run="1f")
        told.append((hint_extra("st").partition(": ")[2], capsys.readouterr().out))
    assert told == [
        ("make extra NAME=st", "MLflow  run 1f; `make mlflow` opens the UI\n"),
        (f"make -C {ROOT} extra NAME=st", "MLflow  run 1f; `assay mlflow` opens the UI\n"),
    ]
