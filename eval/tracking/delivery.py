"""Sending runs to MLflow, each once: as rows of their own, or as children of what made them."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.runs.files import encode_json
from assay.eval.runs.summary.summary import Summary
from assay.eval.tracking.description import NOTE, add_link
from assay.eval.tracking.local import database, holds
from assay.eval.tracking.record import Record, describe
from assay.eval.tracking.store import (
    EXPERIMENT,
    NotInstalledError,
    TrackingError,
    connect,
    find_experiment,
    is_local,
    redact,
    tracking_uri,
)
from assay.eval.tracking.writing import log_table, log_values, mlflow_run
from assay.eval.tracking_failures import add_failure
from assay.retrievers.base import Progress, T
from assay.retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

LOGGED = "mlflow.json"
RUN = "assay.run"  # the tag that names a run of a pipeline


@dataclass(frozen=True)
class LoggedRun:
    """Where MLflow holds a run: the id of its MLflow run and that of its parent, "" if it has none.

    `tracking_uri` is without credentials. `fresh` says that it was sent by this call.
    """

    run: str
    tracking_uri: str
    experiment: str
    run_id: str
    parent: str
    fresh: bool


def attempt(log: Callable[[], T], kept: str, progress: Progress) -> T | None:
    """Log to MLflow and return what `log` returns; say so where it is down or missing, and go on.

    `kept` says what is not lost by it. A store that is a file stays broken, unlike a server that is
    down: the command ends with `assay.eval.tracking_failures.EXIT_CODE`.
    """
    try:
        return log()
    except NotInstalledError as error:
        progress.say(f"Not logged: {error}; {kept}")
        return None
    except TrackingError as error:
        progress.say(f"assay: {error}; {kept}")
        if is_local(uri := tracking_uri()):
            add_failure(redact(uri))
        return None


def log(summaries: Sequence[Summary], rerun: bool = False) -> list[LoggedRun]:
    """Send runs to the tracking store, each as a row of its own.

    A run that the store holds already is not sent twice, unless `rerun`. Each run that was sent
    has an `mlflow.json` in its folder. Raises TrackingError; what was sent before the failure
    stays, and what was half sent is marked FAILED in MLflow.
    """
    uri = tracking_uri()
    folders = {summary.run.folder: summary.run.manifest.id for summary in summaries}
    noted = {} if rerun else find_noted(uri, folders)
    if noted.keys() == folders.keys():
        return list(noted.values())
    records = [describe(summary) for summary in summaries]
    with connect(uri) as client:
        known = {} if rerun else find_logged(client, uri, folders)
        logged = {one.run: one for one in known.values()}
        fresh = [record for record in records if record.run not in logged]
        if fresh:
            logged |= send(client, uri, find_experiment(client, uri), "", fresh)
    return [logged[record.run] for record in records]


def log_once(summary: Summary) -> str:
    """Send a run unless the store holds it; return the id of its MLflow run."""
    return log([summary])[0].run_id


def find_noted(uri: str, folders: Mapping[Path, str]) -> dict[Path, LoggedRun]:
    """Return, by folder, what its note says that a SQLite store at `uri` holds, where it does.

    `folders` gives the id in each. MLflow is not asked: what is not found here it may hold all the
    same, and so may other stores.
    """
    path, found = database(uri), {}
    for folder, id_ in folders.items() if path else ():
        logged = _read_note(uri, folder, id_)
        if path and logged and holds(path, logged.run_id):
            found[folder] = logged
    return found


def find_logged(
    client: "MlflowClient", uri: str, folders: Mapping[Path, str], tag: str = RUN
) -> dict[Path, LoggedRun]:
    """Return, by folder, what the store at `uri` holds whole and has not deleted.

    `folders` gives the id in each, which is the `tag` of its MLflow run. The note in a folder names
    only the store that it was sent to last, so that where it names another the store is asked.
    """
    found = {}
    for folder, id_ in folders.items():
        logged = _confirm(client, _read_note(uri, folder, id_)) or _search(client, uri, tag, id_)
        if logged:
            found[folder] = logged
    return found


def _read_note(uri: str, folder: Path, id_: str) -> LoggedRun | None:
    """Return what the note in a folder says of the store at `uri`."""
    try:
        entry = json.loads((folder / LOGGED).read_bytes())
        logged = LoggedRun(run=id_, fresh=False, **entry)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return logged if logged.tracking_uri == redact(uri) else None


def _confirm(client: "MlflowClient", noted: LoggedRun | None) -> LoggedRun | None:
    """Return what a note says where the store holds it whole."""
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

    if noted is None:
        return None
    try:
        info = client.get_run(noted.run_id).info
    except MlflowException as error:
        if error.error_code != ErrorCode.Name(RESOURCE_DOES_NOT_EXIST):
            raise
        return None
    return noted if info.status == "FINISHED" and info.lifecycle_stage == "active" else None


def _search(client: "MlflowClient", uri: str, tag: str, id_: str) -> LoggedRun | None:
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None or experiment.lifecycle_stage == "deleted" or "'" in id_:
        return None
    wanted = f"attributes.status = 'FINISHED' AND tags.`{tag}` = '{id_}'"
    runs = client.search_runs([experiment.experiment_id], wanted, max_results=1)
    for run in runs:
        parent = run.data.tags.get(MLFLOW_PARENT_RUN_ID, "")
        return LoggedRun(id_, redact(uri), EXPERIMENT, run.info.run_id, parent, fresh=False)
    return None


def log_result(
    name: str,
    tags: Mapping[str, str],
    metrics: Mapping[str, float],
    params: Mapping[str, str],
    files: Iterable[Path],
    created: str = "",
    begin: int | None = None,
) -> str:
    """Send a result that is no run of a pipeline as an MLflow run of its own; return its id.

    It was `created` at a time in ISO 8601, or now, and begun at `begin`, in ms since 1970, or in
    the same moment. Raises TrackingError.
    """
    uri = tracking_uri()
    finished = int(datetime.fromisoformat(created).timestamp() * 1000) if created else None
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        with mlflow_run(client, experiment, name, tags, finished, begin) as run_id:
            i = finished or int(time.time() * 1000)
            log_values(client, run_id, metrics, i, params, {})
            for file in sorted(files):
                client.log_artifact(run_id, str(file))
    return run_id


def find_children(client: "MlflowClient", uri: str, parent: LoggedRun) -> dict[str, LoggedRun]:
    """Return, by the id of the run, what `parent` is the parent of in the store at `uri`."""
    wanted = f"attributes.status = 'FINISHED' AND tags.`mlflow.parentRunId` = '{parent.run_id}'"
    experiment, token, found = client.get_run(parent.run_id).info.experiment_id, None, {}
    while True:
        page = client.search_runs([experiment], wanted, max_results=1000, page_token=token)
        for run in page:
            id_ = run.data.tags.get(RUN, "")
            found[id_] = LoggedRun(
                id_, redact(uri), EXPERIMENT, run.info.run_id, parent.run_id, fresh=False
            )
        if not (token := page.token):
            return found


def send(
    client: "MlflowClient", uri: str, experiment: str, parent: str, records: Iterable[Record]
) -> dict[str, LoggedRun]:
    """Send runs, as children of the MLflow run `parent` unless it is ""; return them by id."""
    sent = {}
    for record in records:
        run_id = _send(client, experiment, parent, record)
        sent[record.run] = (
            note_logged(record.folder, record.run, uri, run_id, parent)
            if record.folder
            else LoggedRun(record.run, redact(uri), EXPERIMENT, run_id, parent, fresh=True)
        )
    return sent


def note_logged(folder: Path, run: str, uri: str, run_id: str, parent: str) -> LoggedRun:
    """Write into `folder` where the store at `uri` holds what lies there."""
    entry = {
        "tracking_uri": redact(uri),
        "experiment": EXPERIMENT,
        "run_id": run_id,
        "parent": parent,
    }
    write_atomically(folder / LOGGED, encode_json(entry))
    return LoggedRun(run=run, fresh=True, **entry)


def _send(client: "MlflowClient", experiment: str, parent: str, record: Record) -> str:
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

    tags = {**({MLFLOW_PARENT_RUN_ID: parent} if parent else {}), **record.tags}
    with mlflow_run(client, experiment, record.name, tags, record.time, record.begin) as run_id:
        names = [file.name for file in record.artifacts]
        note = {NOTE: add_link(record.description, experiment, run_id, names)}
        log_values(client, run_id, record.metrics, record.time, record.params, note)
        context = InputTag(MLFLOW_DATASET_CONTEXT, "evaluation")
        client.log_inputs(run_id, [DatasetInput(Dataset(**record.dataset), [context])])
        for file in record.artifacts:
            client.log_artifact(run_id, str(file))
        if record.folder:
            log_table(client, run_id, record.figures)
    return run_id
