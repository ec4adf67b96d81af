"""Sending what was found of engines to MLflow."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.eval.report.blocks import Report
from assay.eval.report.renderers.frames import list_metrics
from assay.eval.studies.stores.parity.report import report as parity_report
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.recall.curve import Curve
from assay.eval.studies.stores.recall.report import report as curve_report
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import list_params, metric_name
from assay.eval.tracking.store import redact

EXAMPLES = "examples/"  # ranks of single texts are no metrics


def log_parity(parity: Parity, files: Sequence[Path]) -> str:
    """Send a parity with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    name = f"parity {parity.label} on {parity.collection}"
    tags = {"assay.parity": parity.id, "assay.verdict": parity.verdict}
    return _log(parity, name, tags, parity_report(parity), files)


def log_curve(curve: Curve, files: Sequence[Path]) -> str:
    """Send a recall-latency curve with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    name = f"recall {curve.engine} on {curve.collection}"
    return _log(curve, name, {"assay.recall": curve.id}, curve_report(curve), files)


def _log(
    found: Parity | Curve, name: str, tags: Mapping[str, str], report: Report, files: Sequence[Path]
) -> str:
    metrics = {
        metric_name(key): value
        for key, value in list_metrics(report).items()
        if not key.startswith(EXAMPLES)
    }
    params = list_params({"engine": dict(found.settings), "collection": found.collection})
    tags = {**tags, "assay.command": redact(found.command)}
    return log_result(name, tags, metrics, params, files, found.created)
