"""Adding the scores of answers to a run that MLflow holds."""

from collections.abc import Mapping
from pathlib import Path

from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.estimates import Estimate
from assay.eval.tracking.additions import add_to_run
from assay.eval.tracking.record import metric_name, with_interval


def log_answers(run: StoredRun, means: Mapping[str, Estimate], file: Path) -> str | None:
    """Add the means and `file` to the MLflow run of `run`; return its id, None where there is none.

    Raises TrackingError.
    """
    metrics: dict[str, float] = {}
    for name, mean in means.items():
        metrics |= with_interval(f"answers/{metric_name(name)}", mean)
    return add_to_run(run, metrics, file)
