"""`assay sweep` as a user meets it: killed in the middle, with points that fail, found again."""

import os
import signal
import time
from pathlib import Path

import pytest
from tools.processes import ROOT, start

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
def test_a_killed_sweep_goes_on_and_is_one_parent(sweep, tmp_path, environment, own_json):
    from mlflow.tracking import MlflowClient

    reports, words = tmp_path / "reports", ("sweep", str(sweep), *QUICK, "--keep-runs")
    process = start(*words, environment=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(manifests(reports)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = manifests(reports)
    assert 2 <= len(before) < 6
    assert not list(reports.glob("sweep-*"))

    result = own_json(*words)
    after = manifests(reports)
    assert len(after) == 6
    assert before.items() <= after.items()
    assert sorted(after) == sorted(point["run"] for point in result["points"])
    settings = [tuple(point["settings"].values()) for point in result["points"]]
    assert settings == [(k1, heads) for k1 in (0.5, 1.5, 3.0) for heads in (False, True)]
    assert (reports / result["id"] / "sweep.json").exists()
    assert Path(result["report"]).read_text().count("<circle") >= 6
    assert all((reports / run / "report.html").exists() for run in after)

    client = MlflowClient(environment["MLFLOW_TRACKING_URI"])
    parent = client.get_run(result["mlflow_parent"]).info
    mine = f"tags.mlflow.parentRunId = '{parent.run_id}'"
    children = client.search_runs([parent.experiment_id], mine)
    assert sorted(run.data.params[K1] for run in children) == sorted(["0.5", "1.5", "3.0"] * 2)
    names = {item.path.partition("-")[0] for item in client.list_artifacts(parent.run_id)}
    assert names == {"sweep.json", "report.md", "report.html", "summary.json", "timing"}

    assert own_json(*words)["mlflow_parent"] == result["mlflow_parent"]
    assert manifests(reports) == after


@pytest.mark.slow
def test_a_point_is_the_run_that_assay_run_makes(sweep, own_json):
    """Bit for bit, also where the sweep stores none and `assay run` makes it afterwards."""
    plain = ("run", "configs/bm25.yaml", *QUICK, "--no-track")
    run = own_json(*plain, f"{K1}=3.0")
    found = own_json("sweep", sweep, *QUICK, "--no-track")["points"]
    points = {tuple(point["settings"].values()): point for point in found}
    best = max(found, key=lambda point: point["measures"]["nDCG@10"]["value"])
    assert points[3.0, False]["run"] == run["run"]
    assert {item["run"] for item in found} == {None, run["run"], best["run"]}
    k1, headings = next(i for i, item in points.items() if not item["run"])
    later = own_json(*plain, f"{K1}={k1}", f"documents.headings={str(headings).lower()}")
    for point, made in ((points[3.0, False], run), (points[k1, headings], later)):
        means = {name: figure["mean"] for name, figure in made["measures"].items()}
        assert {name: item["value"] for name, item in point["measures"].items()} == means
        assert point["latency_ms"]["p95"]["value"] > 0


@pytest.mark.long
def test_a_failing_point_is_told_and_the_others_go_on(tmp_path, own):
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {ROOT}/configs/bm25.yaml\n"
        "axes:\n  retriever.legs.keyword:\n"
        f"    [{{type: bm25}}, {{type: dense, encoder: {tmp_path}}}]\n"
        "collections: [harbourline, scifact]\n"
    )
    done = own("sweep", path, *QUICK, "--no-track", ASSAY_DATA="")
    assert done.returncode == 1, done.stderr
    assert "3 failed" in done.stdout
    failed = [line for line in done.stderr.splitlines() if "failed: " in line]
    for line, told in zip(failed, (str(tmp_path), "ASSAY_DATA", "ASSAY_DATA"), strict=True):
        assert told in line
    assert len(manifests(tmp_path / "reports")) == 1
    assert "Traceback" not in done.stderr
    (page,) = (tmp_path / "reports").glob("sweep-*/report.html")
    assert page.read_text().count("Failed: ") == 3
