"""`assay ragas` as a process of its own: on a real run, and killed while it asks a model."""

import json
import re
from pathlib import Path

import pytest
from samples.scripted_judge import TEXT

pytestmark = pytest.mark.slow

LIMIT = 6


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
