"""What becomes of runs: shown again, resumed, computed anew, safe side by side."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tools.processes import finish, start

RUN = ("run", "configs/bm25.yaml", "latency.queries=5")
STAGES = "[{type: rerank, model: ms-marco-MiniLM-L-12-v2, depth: 8}]"


def test_an_equal_run_is_shown_again(assay, assay_json, places) -> None:
    first = assay_json(*RUN)
    second = assay_json(*RUN)
    assert second == first
    assert "Nothing has changed" in assay(*RUN).stdout
    again = assay_json(*RUN, "--again")
    assert again["run"] != first["run"]
    assert again["measures"] == first["measures"]


def test_a_report_is_computed_without_searching(assay_json) -> None:
    result = assay_json(*RUN)
    page = Path(result["report"])
    before = (page.parent / "run.trec").read_bytes()
    page.unlink()
    (page.parent / "run.trec").unlink()
    anew = assay_json("report", result["run"])
    assert anew["measures"] == result["measures"]
    assert page.exists()
    assert (page.parent / "run.trec").read_bytes() == before


@pytest.mark.parametrize("moment", [pytest.param("embedding", marks=pytest.mark.slow), "searching"])
def test_killed_and_resumed(tmp_path: Path, places, moment: str) -> None:
    """Kill -9 while embedding and while searching; the next run goes on from there."""
    cache = tmp_path / "cache"
    models = Path(os.environ.get("ASSAY_CACHE", Path.home() / ".cache" / "assay")) / "models"
    cache.mkdir()
    if models.exists():
        (cache / "models").symlink_to(models)
    environment = places | {"ASSAY_CACHE": str(cache), "ASSAY_REPORTS": str(tmp_path / "reports")}
    # Reranking makes the search last long enough to be cut off in the middle.
    reranked = ("configs/bm25.yaml", f"retriever.stages={STAGES}")
    config = ("configs/reranked.yaml",) if moment == "embedding" else reranked
    arguments = ("run", *config, "limit=12", "latency.queries=0", "--no-track")
    process = start(*arguments, environment=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not reached(moment, cache, tmp_path / "reports"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stored = stored_rankings(tmp_path / "reports")
    if moment == "searching":
        assert 0 < len(stored) < 12
    else:
        assert not stored
    done = finish(start(*arguments, "--json", environment=environment))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["queries"] == 12
    assert stored_rankings(tmp_path / "reports")[: len(stored)] == stored


def reached(moment: str, cache: Path, reports: Path) -> bool:
    if moment == "searching":
        return len(stored_rankings(reports)) >= 2
    import sqlite3

    if not (cache / "embeddings.sqlite").exists():
        return False
    try:
        with sqlite3.connect(cache / "embeddings.sqlite") as database:
            return database.execute("SELECT count(*) FROM items").fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False


def stored_rankings(reports: Path) -> list[str]:
    """Return the lines that were written whole; a kill may cut the last one off."""
    files = list(reports.glob("*/rankings.jsonl"))
    assert len(files) <= 1
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    return [line for line in lines if line.endswith("\n")]


def test_two_at_once(tmp_path: Path, places) -> None:
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
