"""What becomes of runs: shown again, resumed, computed anew, safe side by side."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from tools.own_cache import make_cache
from tools.processes import ROOT, finish, start

RUN = ("run", "configs/bm25.yaml", "latency.queries=5")
STAGES = "[{type: rerank, model: ms-marco-MiniLM-L-12-v2, depth: 8}]"


def test_an_equal_run_is_shown_again_and_its_report_made_without_searching(assay, assay_json):
    first = assay_json(*RUN)
    assert assay_json(*RUN) == first
    assert "Nothing has changed" in assay(*RUN).stdout
    page = Path(first["report"])
    before = (page.parent / "run.trec").read_bytes()
    page.unlink()
    (page.parent / "run.trec").unlink()
    assert assay_json("report", first["run"])["measures"] == first["measures"]
    assert page.exists()
    assert (page.parent / "run.trec").read_bytes() == before
    again = assay_json(*RUN, "--again")
    assert again["run"] != first["run"]
    assert again["measures"] == first["measures"]


def test_what_made_a_run_necessary_is_said(assay, assay_json, tmp_path):
    shutil.copytree(ROOT / "datasets/harbourline", tmp_path / "mine")
    call = "run", "bm25", "--dataset", str(tmp_path / "mine"), "limit=4", "latency.queries=0"
    first = assay_json(*call, "--no-track")
    manifest = Path(first["report"]).with_name("manifest.json")
    values = json.loads(manifest.read_text())
    values["environment"]["packages"]["numpy"] = "1.0"
    values["environment"]["sources"] = "0"
    manifest.write_text(json.dumps(values))
    queries = tmp_path / "mine/queries.jsonl"
    queries.write_text(queries.read_text().replace('"text": "', '"text": "please, '))
    told = assay(*call, "--no-track").stderr
    since = f"bm25: searched again, since {first['run']}: the collection changed; numpy 1.0 → "
    assert since in told
    assert "; Assay's code changed\n" in told
    assert "searched again" not in assay(*call, "depth=20", "--no-track").stderr
    assert "searched again" not in assay(*call, "--no-track").stderr


@pytest.mark.slow
def test_killed_and_resumed(tmp_path, places):
    """Kill -9 while searching; the next run goes on from there."""
    reports = tmp_path / "reports"
    cache = str(make_cache(tmp_path))
    environment = places | {"ASSAY_CACHE": cache, "ASSAY_REPORTS": str(reports)}
    # Reranking makes the search last long enough to be cut off in the middle.
    arguments = (*RUN[:2], f"retriever.stages={STAGES}", "limit=12", "latency.queries=0")
    process = start(*arguments, "--no-track", environment=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(stored_rankings(reports)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stored = stored_rankings(reports)
    assert 0 < len(stored) < 12
    done = finish(start(*arguments, "--no-track", "--json", environment=environment))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["queries"] == 12
    assert stored_rankings(reports)[: len(stored)] == stored


def stored_rankings(reports):
    """Return the lines that were written whole; a kill may cut the last one off."""
    files = list(reports.glob("*/rankings.jsonl"))
    assert len(files) <= 1
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    return [line for line in lines if line.endswith("\n")]


@pytest.mark.slow
def test_two_at_once(tmp_path, places):
    """Two processes make the same run: one works, the other waits and shows the same."""
    environment = places | {
        "ASSAY_REPORTS": str(tmp_path / "reports"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
    }
    processes = [start(*RUN, "--json", environment=environment) for _ in range(2)]
    done = [finish(process) for process in processes]
    assert [process.returncode for process in done] == [0, 0], done
    one, other = (json.loads(process.stdout) for process in done)
    assert one == other
    assert len(list((tmp_path / "reports").glob("*/manifest.json"))) == 1
