"""What MLflow holds of an engine's parity and of a recall-latency curve."""

import pytest
from samples.parity import make_bench
from samples.tracked_run import client

from assay.eval.configs.engine_settings import read_engine
from assay.eval.report.files import write_blocks
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.eval.studies.stores.recall.study import report as report_curve
from assay.eval.tracking.delivery import log_result
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


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
