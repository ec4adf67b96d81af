"""Sending measured targets to MLflow."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from eval.targets.results import Results
from eval.tracking.delivery import log_metrics, log_params, mlflow_run
from eval.tracking.record import metric_name
from eval.tracking.store import connect, find_experiment, redact, tracking_uri


def log_targets(results: Results, files: Sequence[Path]) -> str:
    """Send targets with the files written of them; return the id of their MLflow run.

    Raises TrackingError.
    """
    uri = tracking_uri()
    finished = int(datetime.fromisoformat(results.created).timestamp() * 1000)
    command = redact(shlex.join(map(str, results.environment.get("command", ()))))
    tags = {"assay.command": command, "assay.targets": str(len(results.targets))}
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        with mlflow_run(client, experiment, command, tags, finished) as run_id:
            log_metrics(client, run_id, dict(metrics(results)), finished)
            log_params(client, run_id, dict(params(results)))
            for file in files:
                client.log_artifact(run_id, str(file))
    return run_id


def metrics(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each value by its name in MLflow, with its interval, and the number of each verdict."""
    for target in results.targets:
        for line in target.lines:
            if line.found:
                label = f" {line.label}" if line.label else ""
                name = metric_name(f"target/{target.id}{label}")
                estimate = line.found.estimate
                yield name, estimate.value
                yield f"{name}.low", estimate.low
                yield f"{name}.high", estimate.high
    for verdict, ids in results.count().items():
        yield metric_name(f"targets/{verdict}"), len(ids)


def params(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each target."""
    for target in results.targets:
        yield metric_name(f"verdict.{target.id}"), target.verdict
