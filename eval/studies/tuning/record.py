"""Sending the outcome of tuning to MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.eval.studies.tuning.nested_cv import TuningResult
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import list_params, metric_name, with_interval
from assay.eval.tracking.store import redact


@dataclass(frozen=True)
class TuningRecord:
    """What MLflow is told of one tuning, begun at `begin`, in ms since 1970.

    `config` is the config as given, as JSON values.
    """

    tuning: TuningResult
    config: Mapping[str, Any]
    command: str
    files: Sequence[Path]
    begin: int


def log_tuning(record: TuningRecord) -> str:
    """Send a tuning; return the id of its MLflow run. Raises TrackingError."""
    tuning = record.tuning
    name = f"tune {record.config['name']} on {record.config['dataset']}"
    tags = {"assay.command": redact(record.command), "assay.verdict": tuning.verdict}
    best = {} if tuning.best is None else tuning.points[tuning.best].settings
    params = list_params({**record.config, "best": dict(best)})
    return log_result(name, tags, metrics(tuning), params, record.files, begin=record.begin)


def metrics(tuning: TuningResult) -> dict[str, float]:
    """Return the figures of a tuning by their names in MLflow."""
    measure = metric_name(tuning.measure)
    return {
        **with_interval(f"given/{measure}", tuning.given),
        **with_interval(f"naive_gain/{measure}", tuning.naive),
        **with_interval(f"held_out_gain/{measure}", tuning.held_out),
        "held_out_gain/p": tuning.p,
        "points": len(tuning.points),
        "queries": tuning.queries,
    }
