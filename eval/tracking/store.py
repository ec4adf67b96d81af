"""The store of runs: `$MLFLOW_TRACKING_URI`, or a SQLite file in the working directory."""

import json
import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assay.eval.tracking.local import SQLITE, artifacts, database, open_local
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

# The initial columns of the table of runs, besides name, time and duration.
VIEW = "assay"
MEASURES = ("nDCG_at_10", "Hit_at_10", "MRR_at_10", "latency_ms/total.p50")
COLUMNS = ["params.`dataset`", *(f"metrics.`{name}`" for name in MEASURES)]
# MLflow's own defaults retry a dead server for minutes. All of these yield to the user's.
ENVIRONMENT = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
SECONDS_TO_ANSWER = 5
SECONDS_FOR_LOCK = 120
HOSTED = ("databricks", "databricks-uc", "uc")  # not paths: MLflow's names of servers
PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
# Greedy: a password that was not quoted may hold slashes and at-signs itself.
# A word up to its first `://`, each character read once. Python 3.11.2 takes `(...)*+` for another.
_SCHEME = r"(?<!\S)([^\s:]*+(?>(?::(?!//[^/])[^\s:]*)*)://"
CREDENTIALS = re.compile(rf"{_SCHEME})\S*@")
QUERY = re.compile(rf"{_SCHEME}[^\s?]*+)\?\S*")


class TrackingError(AssayError):
    """The tracking store cannot be reached or refuses what it is sent. Stored runs are safe."""


class NotInstalledError(TrackingError):
    """MLflow is not installed."""


def tracking_uri() -> str:
    """Return `$MLFLOW_TRACKING_URI`, or SQLite in `mlflow.db`; a SQLite path is made absolute.

    The address may hold a password: show only what `redact` makes of it.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI", "").strip() or f"{SQLITE}mlflow.db"
    path = database(uri)
    if path is not None:
        return f"{SQLITE}{path.absolute().as_posix()}"
    return uri.rstrip("/") if is_server(uri) else uri


def experiment_name() -> str:
    """Return `$MLFLOW_EXPERIMENT_NAME`, or assay. Raises TrackingError for one named by its id."""
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "").strip()
    if not name and os.environ.get("MLFLOW_EXPERIMENT_ID"):
        raise TrackingError(
            "MLFLOW_EXPERIMENT_ID is not read: set MLFLOW_EXPERIMENT_NAME to the experiment's name"
        )
    return name or "assay"


def redact(text: str) -> str:
    """Return an address, or a text that quotes one, without credentials and query strings."""
    return QUERY.sub(r"\1", CREDENTIALS.sub(r"\1", text))


def is_local(uri: str) -> bool:
    """Return True if `uri` is a file on this machine, so that waiting does not fix its failures."""
    if database(uri) is not None:
        return True
    return uri.startswith(("file:", "/", ".")) or (":" not in uri and uri not in HOSTED)


def is_server(uri: str) -> bool:
    """Return True if `uri` is a tracking server, with a web address and its own UI."""
    return uri.startswith(("http://", "https://"))


def check_installed() -> None:
    """Raise NotInstalledError if MLflow is missing."""
    if find_spec("mlflow") is None:
        raise NotInstalledError(f"MLflow {hint_extra('mlflow')}")


@contextmanager
def connect(uri: str) -> Iterator["MlflowClient"]:
    """Yield a client of the store at `uri`; whatever fails while it is used is a TrackingError.

    Nothing is printed. A SQLite store is used by one process at a time: two that write at once can
    find it locked. If there is none, or one that was never finished, it is created.
    Raises NotInstalledError without MLflow.
    """
    check_installed()
    with _quiet(), _failures(uri), _lock(uri):
        _check_answer(uri)
        path = database(uri)
        if path is None:
            from mlflow.tracking import MlflowClient

            yield MlflowClient(uri)
        else:
            yield open_local(path)


def find_experiment(client: "MlflowClient", uri: str) -> str:
    """Return the id of the experiment, which is created if there is none."""
    from mlflow.exceptions import MlflowException

    path = database(uri)
    location = artifacts(path).as_uri() if path else None
    name = experiment_name()
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException:
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
            # Another process made it in between.
    if experiment.lifecycle_stage == "deleted":
        raise TrackingError(
            f"{redact(uri)}: the experiment {name!r} was deleted there; restore it with "
            f"`mlflow experiments restore --experiment-id {experiment.experiment_id}`"
        )
    return str(experiment.experiment_id)


def search(client: "MlflowClient", wanted: str) -> Iterator["Run"]:
    """Yield the finished runs that match `wanted`, a filter of MLflow, as often as they were sent.

    There are none without an experiment.
    """
    experiment = client.get_experiment_by_name(experiment_name())
    token = None
    while experiment is not None and experiment.lifecycle_stage != "deleted":
        page = client.search_runs(
            [experiment.experiment_id],
            f"attributes.status = 'FINISHED' AND {wanted}",
            max_results=1000,
            page_token=token,
        )
        yield from page
        token = page.token
        if not token:
            return


def find_page(client: "MlflowClient") -> str:
    """Return the place in MLflow's pages of the table of runs; before any, of all experiments.

    The table shows the collection, the headline measures and the latency: a view that is shared
    by a tag of the experiment, as MLflow's button "Share" makes them.
    """
    experiment = client.get_experiment_by_name(experiment_name())
    if experiment is None or experiment.lifecycle_stage == "deleted":
        return "#/experiments"
    view = json.dumps({"selectedColumns": COLUMNS})
    client.set_experiment_tag(experiment.experiment_id, f"mlflow.sharedViewState.{VIEW}", view)
    return f"#/experiments/{experiment.experiment_id}/runs?viewStateShareKey={VIEW}"


@contextmanager
def _quiet() -> Iterator[None]:
    os.environ.update({key: os.environ.get(key, value) for key, value in ENVIRONMENT.items()})
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


@contextmanager
def _failures(uri: str) -> Iterator[None]:
    try:
        yield
    except AssayError:
        raise
    # The libraries of stores and of artifact stores raise errors of many unrelated classes.
    except Exception as error:
        _check_answer(uri)
        reason = " ".join(str(error).replace(uri, redact(uri)).split()) or type(error).__name__
        raise TrackingError(f"tracking store {redact(uri)}: {redact(reason)[:400]}") from None


@contextmanager
def _lock(uri: str) -> Iterator[None]:
    from filelock import FileLock

    path = database(uri)
    if path is None:
        yield
        return
    artifacts(path).mkdir(parents=True, exist_ok=True)
    with FileLock(artifacts(path) / f".{path.name}.lock", timeout=SECONDS_FOR_LOCK):
        yield


def _check_answer(uri: str) -> None:
    if not _answers(uri):
        raise TrackingError(f"tracking server {redact(uri)} (MLFLOW_TRACKING_URI) did not answer")


def _answers(uri: str) -> bool:
    """Return True if anything answers at `uri`, or if there is no way to ask."""
    if is_server(uri):
        return _answers_http(redact(uri))
    try:
        parts = urlsplit(redact(uri))
        port = parts.port or PORTS.get(parts.scheme.partition("+")[0])
    except ValueError:
        return True
    if parts.hostname is None or port is None:
        return True
    try:
        socket.create_connection((parts.hostname, port), SECONDS_TO_ANSWER).close()
    except OSError:
        return False
    return True


def _answers_http(address: str) -> bool:
    # MLflow's own HTTP library, so that proxies and certificates are those of the calls to come.
    import requests

    try:
        requests.get(f"{address}/health", timeout=SECONDS_TO_ANSWER, allow_redirects=False)
    except requests.exceptions.SSLError:
        return True
    except requests.exceptions.RequestException:
        return False
    return True
