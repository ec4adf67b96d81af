"""What MLflow holds of an engine's parity and of a recall-latency curve."""

import pytest
from samples.parity import look, make_bench
from samples.tracked_run import client

from assay.eval.configs.engine_settings import read_engine
from assay.eval.report.files import write_blocks
from assay.eval.studies.stores.parity.report import report as report_parity
from assay.eval.studies.stores.recall.report import report as report_curve
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.eval.tracking.delivery import log_result
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


@pytest.mark.usefixtures("store")
def test_a_parity_is_a_run(tmp_path):
    found = look(tmp_path / "cache", "k=2")
    told = report_parity(found)
    page = write_blocks(found, told, tmp_path / "reports")
    run = client().get_run(
        log_result(
            told,
            page.parent.iterdir(),
            {"engine": found.settings, "collection": found.collection},
            without=("examples",),
            tags={"assay.verdict": found.verdict},
        )
    )
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "parity: Parity of qdrant-edge k=2 on harbour"
    assert run.data.tags["assay.verdict"] == "identical"
    assert run.data.tags["assay.command"] == found.command
    assert run.data.params["engine.k"] == "2"
    metrics = run.data.metrics
    assert metrics["verdicts/identical/queries"] == 8
    assert {
        "systems/native hybrid/nDCG_at_10", "systems/our RRF/Recall_at_20_low",
        "differences/Hit_at_3/difference_high",
    } <= metrics.keys()  # fmt: skip
    files = {file.path for file in client().list_artifacts(run.info.run_id)}
    assert files == {"parity.json", "report.html", "report.md", "summary.json"}


@pytest.mark.usefixtures("store")
def test_a_curve_is_a_run(tmp_path):
    variants = list_variants(read_engine("qdrant-edge"), "ef", [8])
    resources = Resources(Cache(tmp_path / "cache"))
    curve = run_sweep(make_bench(), "ef", variants, "assay recall qdrant-edge", resources)
    told = report_curve(curve)
    page = write_blocks(curve, told, tmp_path / "reports")
    run = client().get_run(log_result(told, page.parent.iterdir(), {"engine": curve.settings}))
    assert run.data.tags["assay.command"] == "assay recall qdrant-edge"
    assert run.data.metrics["points/exact search/recall_10"] == 1
    assert {"points/ef 8/recall_100_low", "points/ef 8/p95_10"} <= run.data.metrics.keys()
