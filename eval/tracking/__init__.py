"""The record of runs in MLflow."""

from eval.tracking.comparison import log_comparison
from eval.tracking.delivery import Logged, attempt, log, log_once
from eval.tracking.record import metric_name
from eval.tracking.store import TrackingError, redact, tracking_uri

__all__ = [
    "Logged",
    "TrackingError",
    "attempt",
    "log",
    "log_comparison",
    "log_once",
    "metric_name",
    "redact",
    "tracking_uri",
]
