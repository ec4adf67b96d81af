"""`assay label` killed between any two of its steps: the next call finds a sealed collection."""

import os
import subprocess
import sys
from pathlib import Path

from samples.judged_guide import call, pair, read_grades, write_table
from tools.processes import ROOT

from assay.eval.collections import check
from assay.eval.collections.card_files import read_card

# Ends as a killed process does, before the file system is changed for the nth time.
KILLED = """
import os, sys
from pathlib import Path
left = int(sys.argv[1])
def count(done):
    def call(*given, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return done(*given, **named)
    return call
for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
    setattr(owner, name, count(getattr(owner, name)))
from assay.eval.cli.main import main
main(["label", sys.argv[2]])
"""


def test_killed_at_every_step(tiny: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "pool.csv", {pair("r", "Use apt."): "1"})
    before = {path: path.read_bytes() for path in tiny.rglob("*") if path.is_file()}
    codes = []
    while not codes or codes[-1] == 9:
        for path in [path for path in tiny.rglob("*") if path.is_file()]:
            path.unlink()
        for path, content in before.items():
            path.write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(len(codes)), str(table)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        codes.append(done.returncode)
        assert call(table).exit_code == 0
        card = read_card(tiny / "dataset.yaml")
        assert not [problem for problem in check(card) if problem.severity == "error"]
        assert len(read_grades("tiny")["r"]) == 2
        assert not (tiny / ".dataset.yaml.labelling").exists()
    assert codes[-1] == 0
    assert len(codes) > 6
