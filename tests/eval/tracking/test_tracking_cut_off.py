"""The first logging, which makes the store: killed, on a full disk, and after an older half."""

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples.tracked_run import client, run_ids
from tools.processes import finish, start

from assay.eval.runs.summary.summary import Summary
from assay.eval.tracking import TrackingError, attempt, local, log_once, tracking_uri
from assay.eval.tracking_failures import collect_failures
from assay.retrievers.base import Quiet

MAKE = """
import sys
print("begin", flush=True)
with connect(sys.argv[1]):
    pass
"""


def make_killed(path: Path, seconds: float) -> None:
    """Kill a process that makes the store, so long after it began."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE, f"sqlite:///{path}"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert process.stdout
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def send_elsewhere(summary: Summary, path: Path) -> "subprocess.CompletedProcess[str]":
    """Send a run to the store at `path` from another process."""
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{path}"}
    return finish(start("log", str(summary.run.folder), environment=store))


@pytest.mark.slow
def test_a_store_whose_making_was_killed_is_made_by_the_next(
    summary: Summary, tmp_path: Path
) -> None:
    """Killed at several moments, each beside what the others left; `make torture` has more."""
    moments = random.Random(20)
    path = tmp_path / "mlflow.db"
    for _ in range(4):
        make_killed(path, moments.uniform(1, 6))
        path.unlink(missing_ok=True)  # whole where it is there at all
    assert log_once(summary) in run_ids(client())
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.parametrize("steps", [1, 30])
def test_a_half_made_store_without_a_run_is_made_anew(
    summary: Summary, empty_store: Path, tmp_path: Path, steps: int
) -> None:
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_store.read_bytes())
    with sqlite3.connect(path) as opened:
        opened.execute("DELETE FROM alembic_version")
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'alembic_version'"
        for (table,) in opened.execute(query).fetchall()[-steps:]:
            opened.execute(f'DROP TABLE "{table}"')
    opened.close()
    assert log_once(summary) in run_ids(client())
    assert len(list(tmp_path.glob("mlflow.db.broken-*"))) == 1


def test_a_broken_store_that_holds_runs_is_left_alone(
    summary: Summary, empty_store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_store.read_bytes())
    log_once(summary)
    with sqlite3.connect(path) as opened:
        opened.execute("UPDATE alembic_version SET version_num = 'of no version'")
    opened.close()
    content = path.read_bytes()
    (summary.run.folder / "mlflow.json").unlink()
    done = send_elsewhere(summary, path)  # MLflow keeps what this process has open
    assert done.returncode == 2
    assert "out-of-date database schema" in done.stderr
    assert path.read_bytes() == content


def test_a_full_disk_leaves_no_store(
    summary: Summary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> Path:
        assert self.match("mlflow.db*"), "which is what .gitignore names"
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(local.Path, "replace", fail)
        with pytest.raises(TrackingError, match="No space left on device"):
            log_once(summary)
    assert not list(tmp_path.glob("*mlflow.db*"))
    done = send_elsewhere(summary, tmp_path / "mlflow.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "form", ["file://{}", "file:{}", "{}", "mlflow.db/runs", "./mlflow.db/a:b"]
)
def test_a_folder_that_cannot_be_made_is_told(
    summary: Summary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_text("no folder")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", form.format(tmp_path / "mlflow.db" / "runs"))
    with collect_failures() as failed:
        assert attempt(lambda: log_once(summary), "kept", Quiet()) is None
    assert failed == [tracking_uri()]
