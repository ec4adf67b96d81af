"""Comparisons as a user meets them: the report, its folder, and what is tracked."""

import json
from pathlib import Path

import pytest
from tools.processes import ROOT

QUICK = ("limit=20", "latency.queries=20")


@pytest.fixture(scope="module")
def runs(assay_json):
    """The ids of two runs that differ in one parameter of BM25."""
    other = "retriever.legs.keyword.b=0.3"
    made = [
        assay_json("run", "configs/bm25.yaml", *QUICK, "--no-track", *more)
        for more in ((), (other,))
    ]
    return made[0]["run"], made[1]["run"]


def test_a_comparison_has_a_report_that_is_the_same_again(assay_json, runs, places):
    first = assay_json("compare", *runs, "--no-track")
    page = Path(first["report"])
    assert page.parent.parent == Path(places["ASSAY_REPORTS"])
    assert first["mlflow_run"] is None
    files = {file.name: file.read_bytes() for file in page.parent.iterdir()}
    assert set(files) == {
        "comparison.json",
        "differences.csv",
        "first_hits.csv",
        "report.html",
        "report.md",
    }
    told = {key: value for key, value in first.items() if key not in ("report", "mlflow_run")}
    assert json.loads(files["comparison.json"]) == told
    assert assay_json("compare", *runs, "--no-track") == first
    assert {file.name: file.read_bytes() for file in page.parent.iterdir()} == files


@pytest.mark.slow
def test_configs_are_timed_by_turns_and_stored_runs_are_not(assay_json, runs, tmp_path):
    flat = tmp_path / "flat.yaml"
    legs = "{legs: {keyword: {b: 0.1}}}"
    flat.write_text(f"base: {ROOT}/configs/bm25.yaml\nname: flat\nretriever: {legs}\n")
    pair = ("configs/bm25.yaml", str(flat))
    together = assay_json("compare", *pair, *QUICK, "--no-track")
    (other,) = together["others"]
    for item in other["latency"]:
        assert item["ratio"]["low"] <= item["ratio"]["value"] <= item["ratio"]["high"]
        assert item["ratio"]["n"] == 20
    assert assay_json("compare", *pair, *QUICK, "--no-track") == together
    # Their runs keep what was timed of them, by whatever name they are called.
    named = [together["base"]["run"], other["run"]]
    assert assay_json("compare", *named, "--no-track") == together
    (apart,) = assay_json("compare", *runs, "--no-track")["others"]
    assert [item["ratio"] for item in apart["latency"]] == [None, None]


def test_no_report_leaves_nothing_behind(assay, runs, tmp_path, places):
    before = sorted(Path(places["ASSAY_REPORTS"]).glob("compare-*"))
    effect = ("--effect", "0.2")
    done = assay("compare", *runs, *effect, "--no-report")
    assert done.returncode == 0, done.stderr
    assert "report" not in done.stdout
    assert sorted(Path(places["ASSAY_REPORTS"]).glob("compare-*")) == before
    done = assay("compare", *runs, *effect, "--no-track")
    assert "report  " in done.stdout.splitlines()[-2]


@pytest.mark.slow
def test_a_comparison_is_tracked_once_and_survives_a_lost_server(assay, assay_json, runs):
    lost = assay("compare", *runs, MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert lost.returncode == 0
    assert "did not answer" in lost.stderr
    assert "the report is kept in" in lost.stderr
    first = assay_json("compare", *runs)
    assert first["mlflow_run"]
    assert assay_json("compare", *runs) == first
