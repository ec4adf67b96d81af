"""`assay sweep` as a user meets it: killed in the middle, with points that fail, found again."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tools.processes import ROOT, finish, start

K1 = "retriever.legs.keyword.k1"
QUICK = ("latency.queries=4", "latency.warm_up=0", "limit=6")


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {ROOT}/configs/bm25.yaml\n"
        f"axes: {{{K1}: [0.5, 1.5, 3.0], documents.headings: [false, true]}}\n"
        "collections: [harbourline]\n"
    )
    return path


def manifests(reports):
    return {path.parent.name: path.stat().st_mtime for path in reports.glob("*/manifest.json")}


@pytest.mark.long
def test_a_killed_sweep_goes_on_and_is_one_parent(sweep, tmp_path, environment):
    reports = tmp_path / "reports"
    process = start("sweep", str(sweep), *QUICK, "--keep-runs", environment=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(manifests(reports)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = manifests(reports)
    assert 2 <= len(before) < 6
    assert not list(reports.glob("sweep-*"))

    options = (*QUICK, "--keep-runs", "--json")
    done = finish(start("sweep", str(sweep), *options, environment=environment))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    after = manifests(reports)
    assert len(after) == 6
    assert before.items() <= after.items()
    assert sorted(after) == sorted(point["run"] for point in result["points"])
    assert [tuple(point["settings"].values()) for point in result["points"]] == [
        (k1, headings) for k1 in (0.5, 1.5, 3.0) for headings in (False, True)
    ]
    assert (reports / result["id"] / "sweep.json").exists()
    assert Path(result["report"]).read_text().count("<circle") >= 6
    for run in after:
        assert (reports / run / "report.html").exists()

    from mlflow.tracking import MlflowClient

    client = MlflowClient(environment["MLFLOW_TRACKING_URI"])
    parent = client.get_run(result["mlflow_parent"])
    children = client.search_runs(
        [parent.info.experiment_id], f"tags.mlflow.parentRunId = '{parent.info.run_id}'"
    )
    assert sorted(run.data.params[K1] for run in children) == sorted(["0.5", "1.5", "3.0"] * 2)
    names = {item.path for item in client.list_artifacts(parent.info.run_id)}
    assert {name.partition("-")[0] for name in names} == {
        "sweep.json", "report.md", "report.html", "summary.json", "timing",
    }  # fmt: skip

    again = finish(start("sweep", str(sweep), *options, environment=environment))
    assert json.loads(again.stdout)["mlflow_parent"] == result["mlflow_parent"]
    assert manifests(reports) == after


@pytest.mark.slow
def test_a_point_is_the_run_that_assay_run_makes(sweep, tmp_path, environment):
    """Bit for bit, also where the sweep stores none and `assay run` makes it afterwards."""
    alone = finish(
        start(
            "run", "configs/bm25.yaml", *QUICK, f"{K1}=3.0", "--no-track", "--json",
            environment=environment,
        )
    )  # fmt: skip
    run = json.loads(alone.stdout)
    done = finish(
        start("sweep", str(sweep), *QUICK, "--no-track", "--json", environment=environment)
    )
    points = {
        tuple(point["settings"].values()): point for point in json.loads(done.stdout)["points"]
    }
    found = points[3.0, False]
    assert found["run"] == run["run"]
    best = max(points.values(), key=lambda point: point["measures"]["nDCG@10"]["value"])
    assert {item["run"] for item in points.values()} == {None, run["run"], best["run"]}
    other = next(i for i, item in points.items() if not item["run"])
    settings = (f"{K1}={other[0]}", f"documents.headings={str(other[1]).lower()}")
    command = ("run", "configs/bm25.yaml", *QUICK, *settings, "--no-track", "--json")
    later = json.loads(finish(start(*command, environment=environment)).stdout)
    for point, made in ((found, run), (points[other], later)):
        means = {name: figure["mean"] for name, figure in made["measures"].items()}
        assert {name: item["value"] for name, item in point["measures"].items()} == means
        assert point["latency_ms"]["p95"]["value"] > 0


@pytest.mark.long
def test_a_failing_point_is_told_and_the_others_go_on(tmp_path, environment):
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {ROOT}/configs/bm25.yaml\n"
        "axes:\n  retriever.legs.keyword:\n"
        f"    [{{type: bm25}}, {{type: dense, encoder: {tmp_path}}}]\n"
        "collections: [harbourline, scifact]\n"
    )
    done = finish(
        start(
            "sweep", str(path), *QUICK, "--no-track", environment=environment | {"ASSAY_DATA": ""}
        )
    )
    assert done.returncode == 1, done.stderr
    assert "3 failed" in done.stdout
    failed = [line for line in done.stderr.splitlines() if "failed: " in line]
    assert str(tmp_path) in failed[0]
    assert "ASSAY_DATA" in failed[1]
    assert "ASSAY_DATA" in failed[2]
    assert len(manifests(tmp_path / "reports")) == 1
    assert done.stderr.count("failed: ") == 3
    assert "Traceback" not in done.stderr
    (page,) = (tmp_path / "reports").glob("sweep-*/report.html")
    assert page.read_text().count("Failed: ") == 3
