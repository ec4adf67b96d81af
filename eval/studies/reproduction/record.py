"""Sending reproduced figures to MLflow."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.studies.reproduction.analysis import Reproduction
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name
from assay.eval.tracking.store import redact


def log_reproduction(found: Reproduction, files: Sequence[Path]) -> str:
    """Send figures with the files written of them; return the id of their MLflow run.

    Raises TrackingError.
    """
    command = redact(found.command)
    metrics, params = {}, {}
    for one in found.sets:
        for row in one.rows:
            if row.measured is not None:
                figure = row.figure
                label = f"{one.name} {figure.system} {figure.measure} {figure.source}"
                metrics[metric_name(f"reproduced/{label}")] = row.measured
                params[metric_name(f"verdict.{label}")] = row.verdict
    tags = {"assay.command": command, "assay.reproduction": str(len(metrics))}
    return log_result(command, tags, metrics, params, files, found.created)
