"""Every command in the README runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tools.processes import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]
PLACE = ".assay/allotment"


def test_the_readme_has_its_commands():
    assert COMMANDS[:2] == ["make eval CONFIG=hybrid_rrf", "make test"]
    assert len(COMMANDS) >= 6


@pytest.mark.slow
def test_commands(assay, places, tmp_path):
    """They run as printed, in order, from the project's root. `make test` is what runs this."""
    # Relative, as in the Makefile: the project's path may have a blank in it.
    bin_ = Path(os.path.relpath(Path(sys.executable).parent, ROOT))
    for command in COMMANDS:
        program, *words = shlex.split(command.replace(PLACE, str(tmp_path / "allotment")))
        if command == "make test":
            continue
        if program == ".venv/bin/assay":
            done = assay(*words)
        else:
            # The targets install on first use; here everything is installed already.
            done = subprocess.run(
                [program, *words, f"BIN={bin_}", "-o", "setup"], cwd=ROOT,
                env=os.environ | places, capture_output=True, text=True, check=False, timeout=600,
            )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert done.stdout


@pytest.mark.slow
def test_the_retriever_in_python_runs(places, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | places, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
