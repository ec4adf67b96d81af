"""`assay ragas` as a process of its own: on a real run, and killed while it asks a model."""

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, Hang, LanguageModelServer
from samples.scripted_judge import CALLS, MEANS, QUERIES, TEXT, judge, make_judged
from tools.processes import finish, start

pytestmark = pytest.mark.slow

LIMIT = 6
ANSWERED = 10  # before the kill; all later calls hang


def metrics(found):
    return {row["metric"]: row for row in found["runs"][0]["metrics"]}


def test_a_run_without_a_model(assay, assay_json, places):
    pytest.importorskip("ragas", reason="needs the extra `ragas`")
    run = assay_json("run", "configs/bm25.yaml", f"limit={LIMIT}", "latency.queries=0")
    found = assay_json("ragas", run["run"])
    rows = metrics(found)
    assert list(rows) == TEXT
    recall = rows["IDBasedContextRecall"]
    assert recall["measure"] == "Recall@5"
    assert recall["measure_mean"]["value"] == pytest.approx(run["measures"]["Recall@5"]["mean"])
    assert recall["mean"]["value"] <= recall["measure_mean"]["value"]
    assert len(recall["queries"]) == LIMIT
    (row,) = found["runs"]
    assert found["mlflow_runs"] == [run["mlflow_run"]]
    kept = json.loads(Path(row["file"]).read_text())
    assert kept == {key: value for key, value in row.items() if key != "file"}
    check_logged(places["MLFLOW_TRACKING_URI"], run["mlflow_run"], rows)
    shown = assay("ragas", run["run"], "-k", "10", "--no-track")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"IDBasedContextPrecision .* P@10 ", shown.stdout)


def check_logged(uri, run_id, rows):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    logged = client.get_run(run_id).data.metrics
    for name, row in rows.items():
        assert logged[f"ragas/{name}"] == pytest.approx(row["mean"]["value"])
        assert logged[f"ragas/{name}.queries"] == LIMIT
    assert "ragas.json" in {file.path for file in client.list_artifacts(run_id)}


@pytest.mark.long
def test_a_killed_run_goes_on_and_pays_for_nothing_twice(tmp_path):
    pytest.importorskip("ragas", reason="needs the extra `ragas`")
    pytest.importorskip("openai", reason="needs the extra `openai`")
    run = make_judged(tmp_path / "reports")
    held = threading.Event()

    def react(call):
        if call.number < ANSWERED:
            return judge(call)
        held.set()
        return Hang(30)

    with LanguageModelServer(react) as server:
        environment = {
            "ASSAY_REPORTS": str(tmp_path / "reports"),
            "ASSAY_CACHE": str(tmp_path / "cache"),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        arguments = ("ragas", "judged", "--provider", "openai", "--concurrency", "2", "--json")
        process = start(*arguments, environment=environment)
        assert held.wait(120), finish(process).stderr
        for _ in range(1000):  # until what was answered is kept, and both threads wait
            ledgers = (tmp_path / "cache" / "ragas-ledger").glob("*.jsonl")
            kept = "".join(path.read_text() for path in ledgers).count('"usage"')
            if (kept, len(server.calls)) == (ANSWERED, ANSWERED + 2):
                break
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        finish(process)
        assert not (run.folder / "ragas.json").exists()
        server.react = judge
        before = len(server.calls)
        done = finish(start(*arguments, environment=environment))
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert len(server.calls) - before == QUERIES * sum(CALLS.values()) - ANSWERED
    assert found["asked"]["earlier"]["calls"] == before
    assert found["asked"]["earlier"]["lost"] == before - ANSWERED  # those under way
    for name, mean in MEANS.items():
        assert metrics(found)[name]["mean"]["value"] == pytest.approx(mean)
