"""Adding the scores of ragas to a run that MLflow holds."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas.beside import Beside
from assay.eval.tracking.additions import add_to_run
from assay.eval.tracking.record import metric_name, with_interval


def log_ragas(run: StoredRun, found: Sequence[Beside], file: Path, group: str) -> str | None:
    """Add metrics, named `group`/…, and `file` to the MLflow run of `run`; return its id.

    None where there is none.

    Raises TrackingError.
    """
    return add_to_run(run, metrics(found, group), file)


def metrics(found: Sequence[Beside], group: str) -> dict[str, float]:
    """Return the scores by their names in MLflow, with the number of queries that have one."""
    values: dict[str, float] = {}
    for item in found:
        if item.mean is not None:
            name = f"{group}/{metric_name(item.metric.name)}"
            values |= {**with_interval(name, item.mean), f"{name}.queries": item.mean.n}
    return values
