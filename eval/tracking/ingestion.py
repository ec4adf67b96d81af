"""Sending an ingestion to MLflow."""

import shlex
from datetime import datetime
from pathlib import Path

from eval.runs.ingestion import Ingestion
from eval.tracking.delivery import log_metrics, log_params, mlflow_run
from eval.tracking.record import list_params, metric_name
from eval.tracking.store import connect, find_experiment, redact, tracking_uri


def log_ingestion(made: Ingestion, folder: Path) -> str:
    """Send an ingestion with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    uri = tracking_uri()
    finished = int(datetime.fromisoformat(made.created).timestamp() * 1000)
    command = shlex.join(map(str, made.environment.get("command", ())))
    tags = {"assay.ingestion": made.id, "assay.command": redact(command)}
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        name = f"ingest {made.source} by {made.pipeline}"
        with mlflow_run(client, experiment, name, tags, finished) as run_id:
            log_metrics(client, run_id, metrics(made), finished)
            log_params(client, run_id, list_params(made.config))
            for file in sorted(folder.iterdir()):
                client.log_artifact(run_id, str(file))
    return run_id


def metrics(made: Ingestion) -> dict[str, float]:
    """Return the figures of an ingestion by their names in MLflow, those that are not known out."""
    found = {}
    for key, value in made.figures().items():
        for name, item in value.items() if isinstance(value, dict) else [("", value)]:
            if item is not None:
                found[metric_name(f"ingest/{key}.{name}" if name else f"ingest/{key}")] = item
    return found
