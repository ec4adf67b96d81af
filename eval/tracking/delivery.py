"""Sending runs to MLflow, each once: as rows of their own, or as children of what made them."""

import json
import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from assay.eval.report.blocks import Report
from assay.eval.report.renderers.frames import list_metrics
from assay.eval.runs.files import LOGGED, encode_json
from assay.eval.runs.json_form import in_json, or_null
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary
from assay.eval.tracking.description import NOTE, add_link, tag_source
from assay.eval.tracking.local import database, holds
from assay.eval.tracking.record import Record, describe, list_params, metric_name
from assay.eval.tracking.store import (
    NotInstalledError,
    TrackingError,
    connect,
    experiment_name,
    find_experiment,
    is_local,
    redact,
    search,
    tracking_uri,
)
from assay.eval.tracking.writing import log_table, log_values, mlflow_run
from assay.eval.tracking_failures import add_failure
from assay.retrievers.base import Progress, T
from assay.retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

RUN = "assay.run"  # the tag that names a run of a pipeline


@in_json(
    "run",
    "tracking_uri",
    "experiment",
    mlflow_run="run_id",
    mlflow_parent=or_null("parent"),
    sent="fresh",
)
@dataclass(frozen=True)
class LoggedRun:
    """The place of a run in MLflow: the id of its MLflow run and of its parent, "" without one.

    `tracking_uri` is without credentials. `fresh` is true if this call sent it.
    """

    run: str
    tracking_uri: str
    experiment: str
    run_id: str
    parent: str
    fresh: bool


def attempt(log: Callable[[], T], kept: str, progress: Progress) -> T | None:
    """Log to MLflow and return what `log` returns; warn and go on if it is down or missing.

    `kept` names the results that are not lost. A store that is a file stays broken, unlike a server
    that is down: the command ends with `assay.eval.tracking_failures.EXIT_CODE`.
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
    """Send runs to the tracking store, one row each.

    A run that the store has already is not sent again, unless `rerun`. Each run that was sent
    has an `mlflow.json` in its folder. Raises TrackingError; what was sent before the failure
    stays, and a run that was half sent is marked FAILED in MLflow.
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


def add_to_run(
    run: StoredRun, metrics: Mapping[str, float], file: Path, progress: Progress
) -> str | None:
    """Add later results, `metrics` and `file`, to the MLflow run of `run`, if it has one.

    Return its id; None if there is none, or if MLflow fails, with a warning: see `attempt`.
    """

    def add() -> str | None:
        if not (run.folder / LOGGED).exists():
            return None
        uri = tracking_uri()
        with connect(uri) as client:
            logged = find_logged(client, uri, {run.folder: run.manifest.id}).get(run.folder)
            if logged is None:
                return None
            log_values(client, logged.run_id, metrics, int(time.time() * 1000))
            client.log_artifact(logged.run_id, str(file))
        return logged.run_id

    return attempt(add, f"{file} is kept", progress)


def find_noted(uri: str, folders: Mapping[Path, str]) -> dict[Path, LoggedRun]:
    """Return, by folder, the run that its note names, if the SQLite store at `uri` has it.

    `folders` gives the id in each. MLflow is not asked: it, or another store, may also have runs
    that are not found here.
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
    """Return, by folder, the run that the store at `uri` holds complete and has not deleted.

    `folders` gives the id in each, which is the `tag` of its MLflow run. If a run was sent more
    than once, it is the one that the note in the folder names, if that still exists.
    """
    found = {}
    for folder, id_ in folders.items():
        noted = _read_note(uri, folder, id_)
        # No quote can be escaped; LIKE passes over it, and finds more than that.
        wanted = id_.replace("'", "_")
        sent = {
            one.run_id: one
            for one in _search(client, uri, tag, f"tags.`{tag}` LIKE '{wanted}'")
            if one.run == id_
        }
        if sent:
            first = next(iter(sent.values()))
            found[folder] = sent.get(noted.run_id, first) if noted else first
    return found


def _read_note(uri: str, folder: Path, id_: str) -> LoggedRun | None:
    """Return the entry for the store at `uri` in the note of a folder."""
    try:
        entry = json.loads((folder / LOGGED).read_bytes())
        logged = LoggedRun(run=id_, fresh=False, **entry)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    there = redact(uri), experiment_name()
    return logged if (logged.tracking_uri, logged.experiment) == there else None


def _search(client: "MlflowClient", uri: str, tag: str, wanted: str) -> Iterator[LoggedRun]:
    """Yield the complete runs in the store at `uri` that are `wanted`, with the id in `tag`."""
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    for run in search(client, wanted):
        id_, parent = (run.data.tags.get(key, "") for key in (tag, MLFLOW_PARENT_RUN_ID))
        yield LoggedRun(id_, redact(uri), experiment_name(), run.info.run_id, parent, fresh=False)


def log_result(
    report: Report,
    files: Iterable[Path],
    params: Mapping[str, Any],
    *,
    metrics: Mapping[str, float] | None = None,
    without: Collection[str] = (),
    tags: Mapping[str, str] = MappingProxyType({}),
    begin: int | None = None,
) -> str:
    """Send the findings of a study as a separate MLflow run, with `files`; return its id.

    Its metrics are `metrics` if given, else the figures of all tables but those named in
    `without`; `params` are JSON values, one parameter per leaf. `tags` are added to, or replace,
    the report's id, its verdict and its command. It lasted from `begin`, in ms since 1970, if that
    is given. Raises TrackingError.
    """
    uri = tracking_uri()
    if metrics is None:
        told = list_metrics(report, without)
        metrics = {metric_name(name): value for name, value in told.items()}
    command = redact(shlex.join(map(str, report.environment.get("command", ()))))
    usual = {
        f"assay.{report.kind}": report.id,
        "assay.verdict": "\n".join(report.verdict),
        "assay.command": command,
        **tag_source(command),
    }
    name = f"{report.kind}: {report.title}"
    with connect(uri) as client:
        experiment = find_experiment(client, uri)
        with mlflow_run(client, experiment, name, usual | dict(tags), begin=begin) as run_id:
            now = int(time.time() * 1000)
            log_values(client, run_id, metrics, now, list_params(params))
            for file in sorted(files):
                client.log_artifact(run_id, str(file))
    return run_id


def find_children(client: "MlflowClient", uri: str, parent: LoggedRun) -> dict[str, LoggedRun]:
    """Return the children of `parent` in the store at `uri`, by the id of the run."""
    wanted = f"tags.`mlflow.parentRunId` = '{parent.run_id}'"
    return {child.run: child for child in _search(client, uri, RUN, wanted)}


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
            else LoggedRun(record.run, redact(uri), experiment_name(), run_id, parent, fresh=True)
        )
    return sent


def note_logged(folder: Path, run: str, uri: str, run_id: str, parent: str) -> LoggedRun:
    """Write a note into `folder` on the place of its run in the store at `uri`."""
    entry = {
        "tracking_uri": redact(uri),
        "experiment": experiment_name(),
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
