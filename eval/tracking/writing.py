"""MLflow runs made by this project, and the values and tables that are written into them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay.eval.tracking.record import FIGURES, FIGURES_COLUMNS, FigureRow
from assay.retrievers.base import T

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def log_table(client: "MlflowClient", run_id: str, rows: Sequence[FigureRow]) -> None:
    """Log figures as an artifact that MLflow shows as a table."""
    from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS

    client.log_dict(run_id, {"columns": FIGURES_COLUMNS, "data": rows}, FIGURES)
    listed = json.dumps([{"path": FIGURES, "type": "table"}])
    client.set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, listed)


@contextmanager
def mlflow_run(
    client: "MlflowClient",
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    ended: int | None = None,
    begin: int | None = None,
) -> Iterator[str]:
    """Yield the id of a new MLflow run, which ends as FINISHED, or FAILED if the block raises.

    It lasted from `begin` to `ended`, in ms since 1970; if these are not given, no time or the
    time of the block.
    """
    from mlflow.utils.validation import MAX_TAG_VAL_LENGTH

    cut = {key: text[:MAX_TAG_VAL_LENGTH] for key, text in tags.items()}
    run_id = client.create_run(
        experiment, begin or ended, cut, name[:MAX_TAG_VAL_LENGTH]
    ).info.run_id
    try:
        yield run_id
        client.set_terminated(run_id, "FINISHED", ended)
    except BaseException:
        # With the store gone the run stays RUNNING, which is not finished either.
        with suppress(Exception):
            client.set_terminated(run_id, "FAILED")
        raise


def log_values(
    client: "MlflowClient",
    run_id: str,
    metrics: Mapping[str, float],
    timestamp: int,
    params: Mapping[str, str] = MappingProxyType({}),
    tags: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Log metrics, measured at `timestamp`, ms since 1970, parameters and tags.

    In as few calls as MLflow allows: each of them is a transaction.
    """
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.utils.validation import (
        MAX_ENTITIES_PER_BATCH,
        MAX_PARAM_VAL_LENGTH,
        MAX_PARAMS_TAGS_PER_BATCH,
    )

    measured = [Metric(name, value, timestamp, step=0) for name, value in metrics.items()]
    given = [Param(key, text[:MAX_PARAM_VAL_LENGTH]) for key, text in params.items()]
    most = MAX_PARAMS_TAGS_PER_BATCH
    batches = zip_longest(
        _parts(measured, MAX_ENTITIES_PER_BATCH - 2 * most),
        _parts(given, most),
        _parts([RunTag(key, text) for key, text in tags.items()], most),
        fillvalue=(),
    )
    for ours in batches:
        client.log_batch(run_id, *ours, synchronous=True)


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
