"""`assay ablate` as a user meets it: a small pipeline, found again, and pipelines without parts."""

import json
from pathlib import Path

import pytest
from tools.processes import finish, start

QUICK = ("limit=8", "latency.queries=3", "latency.warm_up=0")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(
        """name: small
retriever:
  legs:
    keyword: {type: bm25}
    exact: {type: exact}
  fusion: {type: linear, boosts: {exact: 10}}
  stages:
    - {type: calibrate}
    - {type: threshold, minimum: 0.1}
    - {type: per_document, limit: 1}
"""
    )
    return path


@pytest.mark.slow
def test_every_part_is_taken_away(config, tmp_path, environment):
    done = finish(start("ablate", str(config), *QUICK, "--json", environment=environment))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    removed = {row["part"]: row for row in found["removals"]}
    assert list(removed) == ["keyword", "exact", "calibrate", "threshold", "per_document"]
    assert removed["exact"]["along"] == ["calibrate", "threshold"]
    assert removed["per_document"]["changed"] > 0
    assert removed["per_document"]["own"]["p95"] > 0
    assert "a sample: 8 queries" in found["warnings"]
    page = Path(found["report"])
    names = {item.name.partition("-")[0] for item in page.parent.iterdir()}
    written = {"ablation.json", "report.md", "report.html", "summary.json"}
    assert names == written | {"timing", "mlflow.json"}

    reports = tmp_path / "reports"
    before = {path: path.stat().st_mtime for path in reports.glob("*/manifest.json")}
    again = finish(start("ablate", str(config), *QUICK, "--json", environment=environment))
    assert {path: path.stat().st_mtime for path in reports.glob("*/manifest.json")} == before
    repeated = json.loads(again.stdout)
    assert repeated["mlflow_parent"] == found["mlflow_parent"]
    assert repeated["removals"] == found["removals"]

    whole = finish(
        start("run", str(config), *QUICK, "--no-track", "--json", environment=environment)
    )
    assert json.loads(whole.stdout)["run"] == found["full"]["run"]


def test_a_retriever_without_parts_is_refused(tmp_path, environment):
    path = tmp_path / "other.yaml"
    path.write_text("name: other\nretriever: {type: python, path: 'a:B'}\n")
    done = finish(start("ablate", str(path), environment=environment | {"ASSAY_TRUST": "1"}))
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line == "assay: other: retriever.type: python has no parts; allowed: pipeline"


def test_contexts_are_a_part(assay_json):
    found = assay_json("ablate", "contextual", "limit=10", "latency.queries=0", "--no-track")
    rows = [(item["part"], item["kind"]) for item in found["removals"]]
    assert rows == [("auto", "context"), ("dense", "leg"), ("keyword", "leg")]
    assert found["removals"][0]["changed"] > 0
