"""Sending what was found of engines to MLflow."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.parity.curve import Curve
from eval.parity.results import Parity
from eval.tracking.delivery import log_metrics, log_params, mlflow_run
from eval.tracking.record import list_params, metric_name, with_interval
from eval.tracking.store import connect, find_experiment, redact, tracking_uri


def log_parity(parity: Parity, folder: Path) -> str:
    """Send a parity with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    tags = {"assay.parity": parity.id, "assay.verdict": parity.verdict}
    name = f"parity {parity.label} on {parity.collection}"
    return _send(parity, name, tags, dict(parity_metrics(parity)), folder)


def log_curve(curve: Curve, folder: Path) -> str:
    """Send a recall-latency curve with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    tags = {"assay.recall": curve.id}
    name = f"recall {curve.engine} on {curve.collection}"
    return _send(curve, name, tags, dict(curve_metrics(curve)), folder)


def parity_metrics(parity: Parity) -> Iterator[tuple[str, float]]:
    """Yield the figures of a parity by their names in MLflow."""
    for verdict, number in parity.counts.items():
        yield f"parity/{verdict}", number
    for system, means in parity.quality.means.items():
        for measure, mean in means.items():
            yield from with_interval(f"{system}/{metric_name(measure)}", mean).items()
    for item in parity.quality.differences:
        name = f"native_minus_ours/{metric_name(item.measure)}"
        yield from with_interval(name, item.difference).items()
        if item.adjusted is not None:
            yield f"{name}.p", item.adjusted
    if parity.timing:
        for system, percentiles in parity.timing.systems.items():
            for name, at in percentiles.items():
                yield f"latency_ms/{system}.{name}", at.value
        for name, ratio in parity.timing.ratios.items():
            yield from with_interval(f"native_over_ours/{name}", ratio).items()
    yield "index/seconds", parity.index.seconds
    yield "index/bytes", parity.index.bytes
    for depth, recall in parity.recall.items():
        yield from with_interval(f"recall_against_exact_at_{depth}", recall).items()


def curve_metrics(curve: Curve) -> Iterator[tuple[str, float]]:
    """Yield the figures of each point by their names in MLflow."""
    for point in curve.points:
        place = metric_name(point.label)
        for depth, recall in point.recall.items():
            yield from with_interval(f"{place}/recall_at_{depth}", recall).items()
        yield from with_interval(f"{place}/{metric_name(curve.measure)}", point.quality).items()
        for depth, percentiles in point.latency.items():
            for name, at in percentiles.items():
                yield from with_interval(f"{place}/latency_ms_at_{depth}.{name}", at).items()


def _send(
    found: Parity | Curve,
    name: str,
    tags: Mapping[str, str],
    metrics: Mapping[str, float],
    folder: Path,
) -> str:
    finished = int(datetime.fromisoformat(found.created).timestamp() * 1000)
    settings: dict[str, Any] = {"engine": dict(found.settings), "collection": found.collection}
    uri = tracking_uri()
    command = {"assay.command": redact(found.command)}
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        with mlflow_run(client, experiment, name, {**tags, **command}, finished) as run_id:
            log_metrics(client, run_id, metrics, finished)
            log_params(client, run_id, list_params(settings))
            for file in sorted(folder.iterdir()):
                client.log_artifact(run_id, str(file))
    return run_id
