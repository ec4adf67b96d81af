"""Calling Python so that file modes bind it: root without its capabilities is bound as others."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_unprivileged(*arguments, folder=ROOT, **environment):
    """Run Python with `arguments` in `folder` as a process that no right overrides file modes for.

    The test is skipped where root cannot give its rights up.
    """
    drop = []
    if os.getuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root cannot give up its rights without setpriv")
        drop = [setpriv, "--inh-caps=-all", "--bounding-set=-all"]
    return subprocess.run(
        [*drop, sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def forbid_writing(folder):
    """Take the right to write from `folder` and all below it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
