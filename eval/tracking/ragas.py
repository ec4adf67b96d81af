"""Adding the scores of ragas to a run that MLflow holds."""

import time
from collections.abc import Sequence
from pathlib import Path

from eval.ragas.beside import Beside
from eval.runs.stored import StoredRun
from eval.tracking.delivery import LOGGED, find_logged, log_metrics
from eval.tracking.record import metric_name, with_interval
from eval.tracking.store import connect, tracking_uri


def log_ragas(run: StoredRun, found: Sequence[Beside], file: Path) -> str | None:
    """Add metrics and `file` to the MLflow run of `run`; return its id, None where there is none.

    Raises TrackingError.
    """
    if not (run.folder / LOGGED).exists():
        return None
    uri = tracking_uri()
    with connect(uri) as client:
        logged = find_logged(client, uri, {run.folder: run.manifest.id}).get(run.folder)
        if logged is None:
            return None
        log_metrics(client, logged.run_id, metrics(found), int(time.time() * 1000))
        client.log_artifact(logged.run_id, str(file))
    return logged.run_id


def metrics(found: Sequence[Beside]) -> dict[str, float]:
    """Return the scores by their names in MLflow, with the number of queries that have one."""
    values: dict[str, float] = {}
    for item in found:
        if item.mean is not None:
            name = f"ragas/{metric_name(item.metric.name)}"
            values |= {**with_interval(name, item.mean), f"{name}.queries": item.mean.n}
    return values
