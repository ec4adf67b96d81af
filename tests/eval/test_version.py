"""`assay --version`: the version, and in a checkout its commit."""

import subprocess
import sys
from pathlib import Path

from processes import ROOT

from retrievers.base.installation import find_version


def test_the_version_names_the_commit(tmp_path: Path) -> None:
    call = [sys.executable, "-c", "from eval.cli.main import main; main(['--version'])"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=ROOT)
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=7", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    assert done.stdout.startswith(
        f"assay, version {find_version()}{f' (commit {head}' if head else ''}"
    )
    assert f"version: {find_version()}\n" in (ROOT / "CITATION.cff").read_text()
