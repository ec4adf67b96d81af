"""Targets as a user meets them: a small file of every kind that needs no model."""

import json
import sqlite3
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from tools.processes import ROOT

from assay.eval.report.renderers import markdown as renderer
from assay.eval.studies.targets.results import Results
from assay.eval.studies.targets.study import report

TARGETS = f"""
pipelines:
  bm25: {{config: {ROOT}/configs/bm25.yaml, overrides: [latency.queries=10]}}
  plain:
    config: {ROOT}/configs/bm25.yaml
    overrides: [latency.queries=10, retriever.legs.keyword.analyzer=words]
targets:
  HIT:
    criterion: something is found
    as_written: always in the first hundred
    measurements:
      - {{label: "", type: score, pipeline: bm25, dataset: harbourline, measure: Hit@100,
         at_least: 0.5}}
      - {{label: identifiers, type: score, pipeline: bm25, dataset: harbourline,
         measure: Hit@1, query_types: [identifier]}}
  GAIN:
    criterion: stemming
    as_written: doubles MRR
    measurements:
      - {{type: change, base: plain, pipeline: bm25, dataset: harbourline, measure: MRR@10,
         at_least: 1}}
  SPEED:
    criterion: time
    as_written: under an hour
    measurements:
      - {{type: latency, pipeline: bm25, dataset: harbourline, less_than: 3600000}}
      - {{label: grown, type: latency, chunks: 600, pipeline: bm25, dataset: harbourline,
         less_than: 3600000}}
      - {{label: stage, type: slowest_stage, pipeline: bm25, dataset: harbourline,
         at_most: 3600000}}
  WHOLE:
    criterion: ingestion
    as_written: nothing lost, nothing stale
    measurements:
      - {{label: lost, type: ingest, figure: integrity_failures, pipeline: bm25,
         dataset: harbourline, at_most: 0}}
      - {{label: pace, type: ingest, figure: seconds_per_100_pages, pipeline: bm25,
         dataset: harbourline, less_than: 3600}}
      - {{label: stale, type: stale, pipeline: bm25, dataset: harbourline, at_most: 0}}
  AWAY:
    criterion: a collection that is not here
    as_written: whatever
    measurements:
      - {{type: score, pipeline: bm25, dataset: scifact, measure: Recall@1, at_least: 1}}
  LATER:
    criterion: later
    as_written: some day
    reason: no stage does it yet
"""
VERDICTS = {
    "HIT": "met",
    "GAIN": "missed",
    "SPEED": "cannot tell",  # too few queries to bound a p95
    "WHOLE": "met",
    "AWAY": "not measurable yet",
    "LATER": "not measurable yet",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("targets") / "targets.yaml"
    path.write_text(TARGETS)
    return path


@pytest.fixture(scope="module")
def call(assay, file):
    """Measure targets of the file where no data of the user's is known."""

    def run(*arguments):
        return assay("targets", "--file", str(file), *arguments, ASSAY_DATA="")

    return run


@pytest.fixture(scope="module")
def measured(call, file):
    """All targets measured and logged."""
    done = call("--json", "--output", str(file.parent / "out"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_has_its_verdict_in_every_place(measured, places):
    assert {target["id"]: target["verdict"] for target in measured["targets"]} == VERDICTS
    by_id = {target["id"]: target["lines"] for target in measured["targets"]}
    assert by_id["HIT"][1]["found"]["estimate"]["n"] == 5
    assert by_id["HIT"][1]["verdict"] is None
    assert "$ASSAY_DATA, which is not set" in by_id["AWAY"][0]["reason"]
    assert by_id["LATER"][0]["reason"] == "no stage does it yet"
    assert "pieces taken out had been found before" in by_id["WHOLE"][2]["found"]["note"]
    found = [
        line["found"]["estimate"] for lines in by_id.values() for line in lines if line["found"]
    ]
    for estimate in found:
        assert estimate["low"] <= estimate["value"]
        assert estimate["high"] is None or estimate["value"] <= estimate["high"]
    markdown, stored = map(Path, measured["files"])
    values = json.loads(stored.read_text())
    assert values == {key: measured[key] for key in values}
    results = TypeAdapter(Results).validate_python(values)
    assert renderer.render(report(results)) == markdown.read_text()
    with sqlite3.connect(places["MLFLOW_TRACKING_URI"].removeprefix("sqlite:///")) as store:
        asked = "select key, value from metrics where run_uuid = ?"
        metrics = dict(store.execute(asked, (measured["mlflow_run"],)).fetchall())
    assert metrics["target/WHOLE stale"] == 0
    assert (metrics["targets/met"], metrics["targets/missed"]) == (2, 1)


def test_a_repeated_call_measures_nothing_anew(call, measured):
    done = call("SPEED", "WHOLE", "--json", "--no-track")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["mlflow_run"] is None
    before = [target for target in measured["targets"] if target["id"] in ("SPEED", "WHOLE")]
    assert again["targets"] == before


def test_what_is_wrong_is_one_line(call, assay, tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text(TARGETS.replace("type: stale", "type: fresh"))
    for done, line in (
        (call("NONE"), "there is no target NONE; there are: HIT, GAIN"),
        (
            assay("targets", "--file", str(path)),
            f"assay: {path}: targets.WHOLE.measurements.2.type",
        ),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert line in done.stderr
        assert len(done.stderr.splitlines()) == 1
