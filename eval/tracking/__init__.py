"""The record of runs in MLflow."""

from eval.tracking.delivery import Logged, log, log_once
from eval.tracking.record import metric_name
from eval.tracking.store import TrackingError, redact, tracking_uri

__all__ = [
    "Logged",
    "TrackingError",
    "log",
    "log_once",
    "metric_name",
    "redact",
    "tracking_uri",
]
