"""Every command that logs to MLflow, where the store is a file and broken."""

import pytest
from click.testing import CliRunner
from samples.small_project import write_project

from assay.eval.cli.main import assay
from assay.eval.tracking import TrackingError, attempt
from assay.eval.tracking_failures import collect_failures
from assay.retrievers.base import Quiet

COMMANDS = {
    "run": ["mine.yaml"],
    "import": ["other.jsonl", "--dataset", "mine"],
    "ingest": ["mine", "--config", "mine.yaml"],
    "compare": ["mine.yaml", "second.yaml"],
    "sweep": ["sweep.yaml"],
    "tune": ["mine.yaml", "--over", "retriever.legs.words.k1=1.0,1.4", "--folds", "2",
             "--repeats", "1"],
    "ablate": ["mine.yaml", "--timed", "0"],
    "targets": ["--file", "targets.yaml"],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project, and a file in the place of the store that is no database."""
    write_project(tmp_path)
    (tmp_path / "mlflow.db").write_text("no database")
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_could_not_track_ends_with_3(folder, command):
    done = CliRunner().invoke(assay, [command, *COMMANDS[command]])
    assert done.exit_code == 3, (done.output, done.exception)
    (line,) = [line for line in done.stderr.splitlines() if "NOT TRACKED" in line]
    assert f"{folder}/mlflow.db failed" in line
    assert list((folder / "reports").iterdir())


def test_what_was_not_to_be_tracked_ends_with_0(folder):
    done = CliRunner().invoke(assay, ["run", "mine.yaml", "--no-track"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("uri", ["http://127.0.0.1:1", "postgresql://127.0.0.1:1/runs"])
def test_a_server_that_is_down_passes(monkeypatch, uri):
    def fail():
        raise TrackingError("down")

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with collect_failures() as failed:
        assert attempt(fail, "kept", Quiet()) is None
    assert not failed
