"""What is found out about a run after MLflow was given it."""

import time
from collections.abc import Mapping
from pathlib import Path

from assay.eval.runs.stored import StoredRun
from assay.eval.tracking.delivery import LOGGED, attempt, find_logged
from assay.eval.tracking.store import connect, tracking_uri
from assay.eval.tracking.writing import log_metrics
from assay.retrievers.base import Progress


def add_to_run(run: StoredRun, metrics: Mapping[str, float], file: Path) -> str | None:
    """Add `metrics` and `file` to the MLflow run of `run`; return its id, None where there is none.

    Raises TrackingError.
    """
    if not (run.folder / LOGGED).exists():
        return None
    uri = tracking_uri()
    with connect(uri) as client:
        logged = find_logged(client, uri, {run.folder: run.manifest.id}).get(run.folder)
        if logged is None:
            return None
        log_metrics(client, logged.run_id, metrics, int(time.time() * 1000))
        client.log_artifact(logged.run_id, str(file))
    return logged.run_id


def try_to_add(
    run: StoredRun, metrics: Mapping[str, float], file: Path, progress: Progress
) -> str | None:
    """Do as `add_to_run`, and where MLflow fails, say so and that `file` is kept."""
    return attempt(lambda: add_to_run(run, metrics, file), f"{file} is kept", progress)
