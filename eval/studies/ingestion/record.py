"""Sending an ingestion to MLflow."""

import shlex
from pathlib import Path

from assay.eval.studies.ingestion.summary import Ingestion
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import list_params, metric_name
from assay.eval.tracking.store import redact


def log_ingestion(made: Ingestion, folder: Path) -> str:
    """Send an ingestion with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    command = shlex.join(map(str, made.environment.get("command", ())))
    tags = {"assay.ingestion": made.id, "assay.command": redact(command)}
    name = f"ingest {made.source} by {made.pipeline}"
    params = list_params(made.config)
    return log_result(name, tags, metrics(made), params, folder.iterdir(), made.created)


def metrics(made: Ingestion) -> dict[str, float]:
    """Return the figures of an ingestion by their names in MLflow, those that are not known out."""
    found = {}
    for key, value in made.figures().items():
        for name, item in value.items() if isinstance(value, dict) else [("", value)]:
            if item is not None:
                found[metric_name(f"ingest/{key}.{name}" if name else f"ingest/{key}")] = item
    return found
