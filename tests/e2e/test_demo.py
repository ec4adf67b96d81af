"""`assay demo`, from the runs that come with Assay: without a network, models or settings."""

import json
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tools.processes import ROOT

from assay.eval.configs.config import load_config
from assay.eval.shipped import DEMO, DEMO_RUNS

OFFLINE = """
import socket
def refuse(*_, **__): raise AssertionError("a connection was opened")
socket.socket.connect = socket.getaddrinfo = refuse
from assay.eval.cli.main import main
main()
"""


def call(folder, *words):
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "ASSAY_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_verdict_comes_first_and_the_next_commands_last(tmp_path):
    done = call(tmp_path, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("hybrid is better than bm25 for new questions on these ")
    assert any(re.match("p50 latency: .* times as long", line) for line in lines)
    missed = lines.index("A correct passage that hybrid missed, and the others of its query:")
    assert any(" lost in fusion " in line for line in lines[missed:])
    page = Path(next(line for line in lines if line.startswith("report  "))[8:])
    assert page.is_relative_to(tmp_path / "cache/demo")
    assert "hybrid is better than bm25" in page.read_text()
    explained = call(tmp_path, *lines[-2].removeprefix("next    assay ").split())
    assert "correct passages of 60 queries" in explained.stdout
    runs = [str(tmp_path / "cache/demo" / name) for name in DEMO_RUNS]
    compared = call(tmp_path, "compare", *runs, "--no-report")
    assert compared.stdout.startswith(done.stdout.partition("\np50 latency: ")[0])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"], "nothing beside the user's"
    (tmp_path / "file").touch()
    refused = call(tmp_path, "demo", "--output", "file")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert refused.stderr.startswith("assay: file/bm25/")


def test_its_runs_are_those_of_the_pipelines_that_ship():
    """Where a default changes, `python scripts/demo_runs.py` makes the stored runs again."""
    with ZipFile(DEMO) as archive:
        for name in DEMO_RUNS:
            manifest = json.loads(archive.read(f"{name}/manifest.json"))
            config = load_config(ROOT / f"configs/{name}.yaml", ["dataset=harbourline"])
            assert manifest["config"] == config.model_dump(mode="json")
