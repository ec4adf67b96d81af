"""Sending a sweep to MLflow: all of its runs as children of one parent."""

import json
from collections.abc import Sequence
from pathlib import Path

from eval.tracking.delivery import LOGGED, log_records
from eval.tracking.record import Record
from eval.tracking.store import connect, tracking_uri


def log_sweep(records: Sequence[Record], command: str, folder: Path) -> str:
    """Send the runs of a sweep with the report in `folder`; return the id of their parent.

    Where all of them are children of one parent already, nothing is sent twice. Else all are
    sent, those too that another command had sent. Raises TrackingError.
    """
    parents = {_read_parent(record.folder) for record in records}
    logged = log_records(records, command, again=len(parents) > 1 or None in parents)
    parent = logged[0].parent
    with connect(tracking_uri()) as client:
        for file in sorted(folder.iterdir()):
            client.log_artifact(parent, str(file))
    return parent


def _read_parent(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / LOGGED).read_bytes())["parent"])
    except (FileNotFoundError, ValueError, KeyError):
        return None
