"""The first logging, which makes the store: killed, on a full disk, and after an older half."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from samples.tracked_run import client, run_ids
from tools.processes import finish, start

from assay.eval.tracking import TrackingError, attempt, local, log_once, tracking_uri
from assay.eval.tracking_failures import collect_failures
from assay.retrievers.base import Quiet

pytestmark = pytest.mark.slow


def send_elsewhere(summary, path):
    """Send a run to the store at `path` from another process."""
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{path}"}
    return finish(start("log", str(summary.run.folder), environment=store))


@pytest.mark.parametrize("steps", [1, 30])
def test_a_half_made_store_without_a_run_is_made_anew(
    summary, empty_store, tmp_path, capsys, steps
):
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_store.read_bytes())
    with sqlite3.connect(path) as opened:
        opened.execute("DELETE FROM alembic_version")
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'alembic_version'"
        for (table,) in opened.execute(query).fetchall()[-steps:]:
            opened.execute(f'DROP TABLE "{table}"')
    opened.close()
    assert log_once(summary) in run_ids(client())
    (aside,) = tmp_path.glob("mlflow.db.broken-*")
    assert capsys.readouterr().err == (
        f"warning: {path}: half made and empty; set aside as {aside.name}, made anew\n"
    )


HOLDINGS = {
    "an experiment": "INSERT INTO experiments (experiment_id, name) VALUES (7, 'mine')",
    "only MLflow's own": "SELECT 1",
}


def age(path, version):
    """Make a store that of another version of the tables, None for no version."""
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("DELETE FROM alembic_version")
        if version:
            opened.execute("INSERT INTO alembic_version VALUES (?)", [version])


def find_revision(steps):
    """Return the version of the tables of an MLflow that is so many migrations older."""
    import mlflow
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(Path(mlflow.__file__).parent / "store/db_migrations"))
    return [one.revision for one in script.walk_revisions()][steps]


def check_left(summary, path, reason):
    content = path.read_bytes()
    with pytest.raises(TrackingError, match=reason):
        log_once(summary)
    assert path.read_bytes() == content
    assert [one.name for one in path.parent.glob(f"{path.name}*")] == [path.name]


@pytest.mark.parametrize("holding", HOLDINGS)
@pytest.mark.parametrize("older", [True, False])
def test_a_store_of_another_mlflow_is_left_alone(summary, empty_store, tmp_path, holding, older):
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_store.read_bytes())
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute(HOLDINGS[holding])
    age(path, find_revision(20) if older else "of no version")
    command = rf"older MLflow .*mlflow db upgrade sqlite:///{path}$"
    check_left(summary, path, command if older else "newer MLflow than .*MLFLOW_TRACKING_URI")


@pytest.mark.parametrize("statement", ["SELECT 1", "INSERT INTO notes VALUES ('mine')"])
def test_a_database_of_something_else_is_left_alone(summary, tmp_path, statement):
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("CREATE TABLE notes (text TEXT)")
        opened.execute(statement)
    check_left(summary, path, "no whole store of MLflow")


def test_a_store_that_lost_its_version_is_left_alone_where_it_holds_a_run(
    summary, empty_store, tmp_path
):
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_store.read_bytes())
    log_once(summary)
    age(path, None)
    (summary.run.folder / "mlflow.json").unlink()
    content = path.read_bytes()
    done = send_elsewhere(summary, path)  # MLflow keeps what this process has open
    assert done.returncode == 2
    assert "no whole store of MLflow" in done.stderr
    assert done.stderr.count("\n") == 1
    assert path.read_bytes() == content


def test_a_full_disk_leaves_no_store(summary, tmp_path, monkeypatch):
    def fail(self, target):
        assert self.match("mlflow.db*"), "which is what .gitignore names"
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(local.Path, "replace", fail)
        with pytest.raises(TrackingError, match="No space left on device"):
            log_once(summary)
    assert not list(tmp_path.glob("*mlflow.db*"))
    done = send_elsewhere(summary, tmp_path / "mlflow.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["file:{}", "{}", "./mlflow.db/a:b"])
def test_a_folder_that_cannot_be_made_is_told(summary, monkeypatch, tmp_path, form):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_text("no folder")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", form.format(tmp_path / "mlflow.db" / "runs"))
    with collect_failures() as failed:
        assert attempt(lambda: log_once(summary), "kept", Quiet()) is None
    assert failed == [tracking_uri()]
