"""Sending runs to MLflow: one parent a command, one child a pipeline and collection."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from eval.analysis.summary import Summary
from eval.runs import environment
from eval.runs.files import encode_json
from eval.tracking.record import Record, describe, headlines
from eval.tracking.store import (
    EXPERIMENT,
    TrackingError,
    connect,
    find_experiment,
    is_local,
    redact,
    tracking_uri,
)
from eval.untracked import add_failure
from retrievers.base import Progress, T
from retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

LOGGED = "mlflow.json"


@dataclass(frozen=True)
class Logged:
    """Where MLflow holds a run: the ids of its MLflow run and of that run's parent.

    `tracking_uri` is without credentials. `fresh` says that it was sent by this call.
    """

    run: str
    tracking_uri: str
    experiment: str
    run_id: str
    parent: str
    fresh: bool


def attempt(log: Callable[[], T], kept: str, progress: Progress) -> T | None:
    """Log to MLflow and return what `log` returns; say so where tracking is down, and go on.

    `kept` says what is not lost by it. A store that is a file stays broken, unlike a server that is
    down: the command ends with `eval.untracked.EXIT_CODE`.
    """
    try:
        return log()
    except TrackingError as error:
        progress.say(f"assay: {error}; {kept}")
        if is_local(uri := tracking_uri()):
            add_failure(redact(uri))
        return None


def log(summaries: Sequence[Summary], command: str, again: bool = False) -> list[Logged]:
    """Send runs to the tracking store, as children of one parent that names `command`.

    A run that the store holds already is not sent twice, unless `again`. Each run that was sent
    has an `mlflow.json` in its folder. Raises TrackingError; what was sent before the failure
    stays, and what was half sent is marked FAILED in MLflow.
    """
    return log_records([describe(summary) for summary in summaries], command, again)


def log_records(records: Sequence[Record], command: str, again: bool = False) -> list[Logged]:
    """As `log`, for runs already described."""
    uri = tracking_uri()
    with connect(uri) as client:
        folders = {record.folder: record.run for record in records}
        logged = {} if again else find_logged(client, uri, folders)
        fresh = [record for record in records if record.folder not in logged]
        if fresh:
            logged |= _send_all(client, uri, fresh, redact(command))
    return [logged[record.folder] for record in records]


def log_once(summary: Summary) -> str:
    """Send a run unless the store holds it; return the id of its MLflow run."""
    return log([summary], environment.command_line())[0].run_id


def find_logged(
    client: "MlflowClient", uri: str, folders: Mapping[Path, str]
) -> dict[Path, Logged]:
    """Return, by folder, what the store at `uri` holds whole and has not deleted.

    `folders` gives the id of the run in each.
    """
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

    found = {}
    for folder, run in folders.items():
        try:
            entry = json.loads((folder / LOGGED).read_bytes())
            logged = Logged(run=run, fresh=False, **entry)
        except (FileNotFoundError, ValueError, TypeError):
            continue
        if logged.tracking_uri != redact(uri):
            continue
        try:
            info = client.get_run(logged.run_id).info
        except MlflowException as error:
            if error.error_code != ErrorCode.Name(RESOURCE_DOES_NOT_EXIST):
                raise
            continue
        if info.status == "FINISHED" and info.lifecycle_stage == "active":
            found[folder] = logged
    return found


def log_result(
    name: str,
    tags: Mapping[str, str],
    metrics: Mapping[str, float],
    params: Mapping[str, str],
    files: Iterable[Path],
    created: str = "",
) -> str:
    """Send a result that is no run of a pipeline as an MLflow run of its own; return its id.

    It was `created` at a time in ISO 8601, or now. Raises TrackingError.
    """
    uri = tracking_uri()
    finished = int(datetime.fromisoformat(created).timestamp() * 1000) if created else None
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        with mlflow_run(client, experiment, name, tags, finished) as run_id:
            log_metrics(client, run_id, metrics, finished or int(time.time() * 1000))
            log_params(client, run_id, params)
            for file in sorted(files):
                client.log_artifact(run_id, str(file))
    return run_id


def _send_all(
    client: "MlflowClient", uri: str, records: Sequence[Record], command: str
) -> dict[Path, Logged]:
    experiment = find_experiment(client, uri)
    with mlflow_run(client, experiment, command, {"assay.command": command}) as parent:
        now = int(time.time() * 1000)
        log_metrics(client, parent, {"children": len(records), **headlines(records)}, now)
        return send_children(client, uri, experiment, parent, records)


def send_children(
    client: "MlflowClient", uri: str, experiment: str, parent: str, records: Sequence[Record]
) -> dict[Path, Logged]:
    """Send runs as children of the MLflow run `parent`; return them by folder."""
    sent = {}
    for record in records:
        run_id = _send(client, experiment, parent, record)
        sent[record.folder] = note_logged(record.folder, record.run, uri, run_id, parent)
    return sent


def note_logged(folder: Path, run: str, uri: str, run_id: str, parent: str) -> Logged:
    """Write into `folder` where the store at `uri` holds what lies there."""
    entry = {
        "tracking_uri": redact(uri),
        "experiment": EXPERIMENT,
        "run_id": run_id,
        "parent": parent,
    }
    write_atomically(folder / LOGGED, encode_json(entry))
    return Logged(run=run, fresh=True, **entry)


def _send(client: "MlflowClient", experiment: str, parent: str, record: Record) -> str:
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

    tags = {MLFLOW_PARENT_RUN_ID: parent, **record.tags}
    with mlflow_run(client, experiment, record.name, tags, record.time) as run_id:
        log_metrics(client, run_id, record.metrics, record.time)
        log_params(client, run_id, record.params)
        context = InputTag(MLFLOW_DATASET_CONTEXT, "evaluation")
        client.log_inputs(run_id, [DatasetInput(Dataset(**record.dataset), [context])])
        for file in record.artifacts:
            client.log_artifact(run_id, str(file))
    return run_id


@contextmanager
def mlflow_run(
    client: "MlflowClient",
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    ended: int | None = None,
) -> Iterator[str]:
    """Yield the id of a new MLflow run, which ends as FINISHED, or FAILED if the block raises."""
    from mlflow.utils.validation import MAX_TAG_VAL_LENGTH

    cut = {key: text[:MAX_TAG_VAL_LENGTH] for key, text in tags.items()}
    run_id = client.create_run(experiment, ended, cut, name[:MAX_TAG_VAL_LENGTH]).info.run_id
    try:
        yield run_id
        client.set_terminated(run_id, "FINISHED", ended)
    except BaseException:
        # With the store gone the run stays RUNNING, which is not finished either.
        with suppress(Exception):
            client.set_terminated(run_id, "FAILED")
        raise


def log_params(client: "MlflowClient", run_id: str, values: Mapping[str, str]) -> None:
    """Log parameters in as few calls as MLflow allows."""
    from mlflow.entities import Param
    from mlflow.utils.validation import MAX_PARAM_VAL_LENGTH, MAX_PARAMS_TAGS_PER_BATCH

    params = [Param(key, text[:MAX_PARAM_VAL_LENGTH]) for key, text in values.items()]
    for part in _parts(params, MAX_PARAMS_TAGS_PER_BATCH):
        client.log_batch(run_id, params=part, synchronous=True)


def log_metrics(client: "MlflowClient", run_id: str, values: Mapping[str, float], at: int) -> None:
    """Log metrics, measured at `at` ms since 1970, in as few calls as MLflow allows."""
    from mlflow.entities import Metric
    from mlflow.utils.validation import MAX_METRICS_PER_BATCH

    metrics = [Metric(name, value, at, step=0) for name, value in values.items()]
    for part in _parts(metrics, MAX_METRICS_PER_BATCH):
        client.log_batch(run_id, metrics=part, synchronous=True)


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
