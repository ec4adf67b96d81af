"""What MLflow holds of an engine's parity and of a recall-latency curve."""

from pathlib import Path

import pytest
from samples.parity import look, make_bench
from samples.tracked_run import client

from assay.eval.configs.engine_settings import read_engine
from assay.eval.studies.stores.parity import page as parity
from assay.eval.studies.stores.parity.record import log_curve, log_parity
from assay.eval.studies.stores.recall import page as recall
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


@pytest.mark.usefixtures("store")
def test_a_parity_is_a_run(tmp_path: Path) -> None:
    found = look(tmp_path / "cache", "k=2")
    page = parity.write(found, tmp_path / "reports")
    run = client().get_run(log_parity(found, page.parent))
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "parity qdrant-edge k=2 on harbour"
    assert run.data.tags["assay.verdict"] == "identical"
    assert run.data.tags["assay.command"] == found.command
    assert run.data.params["engine.k"] == "2"
    metrics = run.data.metrics
    assert metrics["parity/identical"] == 8
    assert {"native/nDCG_at_10", "ours/Recall_at_20.low", "native_over_ours/p95"} <= metrics.keys()
    files = {file.path for file in client().list_artifacts(run.info.run_id)}
    assert files == {"parity.json", "report.html"}


@pytest.mark.usefixtures("store")
def test_a_curve_is_a_run(tmp_path: Path) -> None:
    variants = list_variants(read_engine("qdrant-edge"), "ef", [8])
    resources = Resources(Cache(tmp_path / "cache"))
    curve = run_sweep(make_bench(), "ef", variants, "assay recall qdrant-edge", resources)
    page = recall.write(curve, tmp_path / "reports")
    run = client().get_run(log_curve(curve, page.parent))
    assert run.data.tags["assay.command"] == "assay recall qdrant-edge"
    assert run.data.metrics["exact search/recall_at_10"] == 1
    assert {"ef 8/recall_at_100.low", "ef 8/latency_ms_at_10.p95"} <= run.data.metrics.keys()
