"""The runs of one command in MLflow: a parent of them all, with the report of the command."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from assay.eval.runs.environment import command_line
from assay.eval.runs.files import LOGGED
from assay.eval.tracking.delivery import find_children, find_logged, note_logged, send
from assay.eval.tracking.description import NOTE, add_link, describe_children, tag_source
from assay.eval.tracking.record import Record, metric_name
from assay.eval.tracking.store import connect, find_experiment, redact, tracking_uri
from assay.eval.tracking.writing import log_values, mlflow_run
from assay.retrievers.base import Progress

SWEEP = "assay.sweep"


def log_records(records: Sequence[Record], folder: Path, progress: Progress) -> str | None:
    """Log as `log_family` does, for the running command; return None without records."""
    return log_family(records, command_line(), folder, progress) if records else None


def log_family(records: Sequence[Record], command: str, folder: Path, progress: Progress) -> str:
    """Send the findings with the report in `folder`; return the id of its MLflow run.

    It is the parent of those of its runs that the store does not hold yet, and names all of them.
    It is sent only once; later calls add to it. Raises TrackingError.
    """
    uri, command = tracking_uri(), redact(command)
    with connect(uri) as client:
        known = find_logged(client, uri, {folder: folder.name}, SWEEP).get(folder)
        stored = {record.folder: record.run for record in records if record.folder}
        logged = {one.run: one for one in find_logged(client, uri, stored).values()}
        logged |= find_children(client, uri, known) if known else {}
        fresh = [record for record in records if record.run not in logged]
        if known and not fresh:
            return known.run_id
        experiment = find_experiment(client, uri)
        tags = {SWEEP: folder.name, "assay.command": command, **tag_source(command)}
        begin = min(record.begin for record in fresh) if fresh else None
        made = mlflow_run(client, experiment, folder.name, tags, None, begin)
        sending = progress.track(fresh, "sending runs to MLflow", len(fresh))
        with nullcontext(known.run_id) if known else made as run_id:
            logged |= send(client, uri, experiment, run_id, sending)
            measure, best = max((record.headline for record in records), key=lambda item: item[1])
            figures = {f"best/{metric_name(measure)}": best, "points": float(len(records))}
            log_values(client, run_id, figures, int(time.time() * 1000))
            files = [
                file for file in sorted(folder.iterdir()) if file.is_file() and file.name != LOGGED
            ]
            for file in files:
                client.log_artifact(run_id, str(file))
            rows = [(one.name, one.headline[1], logged[one.run].run_id) for one in records]
            described = describe_children(measure, rows, experiment)
            names = [file.name for file in files]
            client.set_tag(run_id, NOTE, add_link(described, experiment, run_id, names))
        note_logged(folder, folder.name, uri, run_id, "")
    return run_id
