"""Comparisons as a user meets them: the report, its folder, and what is tracked."""

from pathlib import Path

import pytest
from tools.processes import ROOT

QUICK = ("limit=20", "latency.queries=20")


@pytest.fixture(scope="module")
def runs(assay_json):
    """The folders of two runs that differ in one parameter of BM25."""
    other = "retriever.legs.keyword.b=0.3"
    made = [
        assay_json("run", "configs/bm25.yaml", *QUICK, "--no-track", *more)
        for more in ((), (other,))
    ]
    return [str(Path(one["report"]).parent) for one in made]


def test_no_report_leaves_nothing_behind(assay, runs, tmp_path):
    place = {"ASSAY_REPORTS": str(tmp_path)}
    done = assay("compare", *runs, "--no-report", **place)
    assert (done.returncode, "report" in done.stdout) == (0, False), done.stderr
    assert not list(tmp_path.iterdir())
    done = assay("compare", *runs, "--no-track", **place)
    assert "report  " in done.stdout.splitlines()[-2]
    assert len(list(tmp_path.glob("compare-*/report.html"))) == 1


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


@pytest.mark.slow
def test_a_comparison_is_tracked_once_and_survives_a_lost_server(assay, assay_json, runs):
    lost = assay("compare", *runs, MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert lost.returncode == 0
    assert "did not answer" in lost.stderr
    assert "the report is kept in" in lost.stderr
    first = assay_json("compare", *runs)
    assert first["mlflow_run"]
    assert assay_json("compare", *runs) == first
