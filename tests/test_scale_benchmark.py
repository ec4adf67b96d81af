"""The benchmark by number of passages: what its figures rest on. Never a time."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.retrievers.base import AssayError
from benchmarks import query_sets, scale
from benchmarks.consumption import consume

ROOT = Path(__file__).parents[1]


def test_a_process_is_told_from_its_outside():
    held = "held = bytearray(60_000_000); import time; time.sleep(.5); print('done')"
    used = consume("it", [sys.executable, "-c", held], {}, 60)
    assert used.output == "done\n"
    assert used.peak > 60
    assert not used.own < 60  # NaN where the system does not tell
    with pytest.raises(AssayError, match=r"^it: no luck$"):
        consume("it", [sys.executable, "-c", "raise SystemExit('so\\nno luck')"], {}, None)
    with pytest.raises(AssayError, match=r"^it: not done after 0\.2 seconds$"):
        consume("it", [sys.executable, "-c", "import time; time.sleep(60)"], {}, 0.2)


@pytest.mark.long
def test_each_pipeline_is_measured(tmp_path):
    names = ["hashing_hybrid", "hashing_quantised"]
    configs = [str(scale.CONFIG), *(str(ROOT / "examples" / f"{name}.yaml") for name in names)]
    command = [sys.executable, "-m", scale.__name__, "--passages", "1200", "--json"]
    command += ["--data", str(tmp_path), "--config", *configs]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    rows = json.loads(done.stdout)
    assert [row["pipeline"] for row in rows] == ["bm25", *names]
    assert rows[0]["hits"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"zipf1200"}


@pytest.mark.long
def test_runs_are_measured_by_number_of_queries(monkeypatch, capsys):
    monkeypatch.setattr(query_sets, "STATED", 1e-9)
    with pytest.raises(SystemExit) as ended:
        query_sets.main(["--queries", "30"])
    assert ended.value.code == 1
    assert re.search(r"^ +30 +[\d.]+ s +[\d.]+ s +[\d.]+ ", capsys.readouterr().out, re.M)
