"""The record of runs in MLflow."""

from assay.eval.tracking.delivery import LoggedRun, attempt, log, log_once
from assay.eval.tracking.record import metric_name
from assay.eval.tracking.store import TrackingError, redact, tracking_uri

__all__ = [
    "LoggedRun",
    "TrackingError",
    "attempt",
    "log",
    "log_once",
    "metric_name",
    "redact",
    "tracking_uri",
]
