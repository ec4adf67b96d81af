"""The page Start: every command of it runs, in order, and prints what the page shows."""

import re
import shlex
import subprocess

import pytest
from tools.processes import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/start.md").read_text()
PLACE = ".assay/tutorial"
BLOCKS = re.findall(r"^```(console|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def blur(text):
    """Return text without spaces and figures: those of a model differ by machine, times always."""
    text = re.sub(r"[-+<−]?\d[\d,.]*", "0", text)
    return re.sub(r"\s+", "", text)


def test_every_command_runs_and_prints_what_is_shown(assay, tmp_path):
    said = []
    shown = 0
    for kind, block in BLOCKS:
        if kind == "console":
            said = []
            for line in block.replace(PLACE, str(tmp_path)).splitlines():
                words = shlex.split(line.removeprefix("$ "))
                if words[0] == "assay":
                    done = assay(*words[1:])
                else:
                    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
                assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
                said += map(blur, (done.stdout + done.stderr).splitlines())
        else:
            for line in block.replace(PLACE, str(tmp_path)).splitlines():
                assert any(blur(line) in printed for printed in said), line
                shown += 1
    assert shown > 12
