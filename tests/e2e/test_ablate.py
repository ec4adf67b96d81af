"""`assay ablate` as a user meets it: a small pipeline, found again, and pipelines without parts."""

from pathlib import Path

import pytest

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
def test_every_part_is_taken_away(config, tmp_path, own_json):
    found = own_json("ablate", config, *QUICK)
    removed = {row["part"]: row for row in found["removals"]}
    assert list(removed) == ["keyword", "exact", "calibrate", "threshold", "per_document"]
    assert removed["exact"]["along"] == ["calibrate", "threshold"]
    assert removed["per_document"]["changed"] > 0
    assert removed["per_document"]["own"]["p95"] > 0
    assert "a sample: 8 queries" in found["warnings"]
    names = {item.name.partition("-")[0] for item in Path(found["report"]).parent.iterdir()}
    written = {"ablation.json", "report.md", "report.html", "summary.json"}
    assert names == written | {"timing", "mlflow.json"}

    def list_made():
        return {path: path.stat().st_mtime for path in tmp_path.glob("reports/*/manifest.json")}

    before = list_made()
    repeated = own_json("ablate", config, *QUICK)
    assert list_made() == before
    for key in ("mlflow_parent", "removals"):
        assert repeated[key] == found[key]
    assert own_json("run", config, *QUICK, "--no-track")["run"] == found["full"]["run"]
