import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from samples.tracked_run import check_run, client, make_summary, run_ids
from tools.browser import CHROMIUM, DESKTOP, FLAGS
from tools.processes import find_free_port

from assay.eval.cli.log import log as log_command
from assay.eval.cli.mlflow_ui import mlflow as mlflow_command
from assay.eval.runs.stored import load
from assay.eval.tracking import TrackingError, log, log_once
from assay.eval.tracking.store import ENVIRONMENT, connect, find_page, tracking_uri
from assay.retrievers.base import AssayError

ROOT = Path(__file__).parents[3]


class Server:
    """A real `mlflow server` on loopback, its artifacts proxied."""

    def __init__(self, folder):
        self.folder = folder
        self.port = find_free_port()
        folder.mkdir()

    def start(self):
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        options += ["--backend-store-uri", f"sqlite:///{self.folder}/server.db"]
        options += ["--artifacts-destination", str(self.folder / "artifacts")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options],
            env={
                **os.environ,
                "MLFLOW_DISABLE_TELEMETRY": "true",
                "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            },
            stdout=(self.folder / "output").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + 120
        while not self.answers():
            assert self.process.poll() is None, (self.folder / "output").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def answers(self):
        with suppress(httpx.TransportError):
            address = f"http://127.0.0.1:{self.port}/health"
            return httpx.get(address, trust_env=False).is_success
        return False

    def kill(self):
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()


@pytest.fixture
def server(empty_store, tmp_path):
    server = Server(tmp_path / "server")
    shutil.copy(empty_store, server.folder / "server.db")
    server.start()
    yield server
    server.kill()


@pytest.mark.slow
def test_a_real_server_takes_runs_dies_in_the_middle_and_takes_them_later(
    server, summary, tmp_path, monkeypatch, slept
):
    from mlflow.tracking import MlflowClient

    address = f"http://127.0.0.1:{server.port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://someone:hunter2@127.0.0.1:{server.port}/")
    (entry,) = log([summary])
    tracking = client(address)
    check_run(tracking, summary, entry.run_id)
    assert tracking.get_run(entry.run_id).info.artifact_uri.startswith("mlflow-artifacts:/")
    assert json.loads((summary.run.folder / "mlflow.json").read_text())["tracking_uri"] == address

    second = make_summary(tmp_path / "reports", "second")
    log_inputs = MlflowClient.log_inputs

    def die_first(self, *arguments):
        server.kill()
        return log_inputs(self, *arguments)

    monkeypatch.setattr(MlflowClient, "log_inputs", die_first)
    slept.clear()
    with pytest.raises(TrackingError) as caught:
        log_once(second)
    assert sum(slept) < 5
    assert str(caught.value) == f"tracking server {address} (MLFLOW_TRACKING_URI) did not answer"
    assert load(second.run.folder).manifest == second.run.manifest
    assert not (second.run.folder / "mlflow.json").exists()
    monkeypatch.setattr(MlflowClient, "log_inputs", log_inputs)
    slept.clear()
    with pytest.raises(TrackingError, match="did not answer"):
        log_once(second)
    assert sum(slept) < 5

    server.start()
    before = run_ids(tracking)
    assert before == {entry.run_id}
    done = CliRunner().invoke(log_command, [str(second.run.folder), "--json"])
    (row,) = json.loads(done.output)["runs"]
    assert row["sent"]
    assert run_ids(tracking) == before | {row["mlflow_run"]}
    written = [*tmp_path.glob("reports/*/mlflow.json"), server.folder / "server.db"]
    assert all(b"hunter2" not in file.read_bytes() for file in written)
    assert "hunter2" not in done.output


def test_a_server_that_never_answers_is_given_up_quickly(summary, monkeypatch):
    monkeypatch.setattr("assay.eval.tracking.store.SECONDS_TO_ANSWER", 1)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        port = deaf.getsockname()[1]
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:hunter2@127.0.0.1:{port}")
        begin = time.monotonic()
        with pytest.raises(TrackingError, match=f"server http://127.0.0.1:{port} .*did not answer"):
            log_once(summary)
        assert time.monotonic() - begin < float(ENVIRONMENT["MLFLOW_HTTP_REQUEST_TIMEOUT"])


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://me:hunter2@127.0.0.1:{port}/runs?sslmode=require",
        "https://me:hunter2@127.0.0.1:{port}",
        "nonsense://me:hunter2@127.0.0.1/",
    ],
)
def test_a_store_out_of_reach_is_one_line_without_the_password(uri, summary, monkeypatch, slept):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri.format(port=find_free_port()))
    with pytest.raises(TrackingError) as caught:
        log_once(summary)
    assert sum(slept) < 5
    message = str(caught.value)
    assert "127.0.0.1" in message
    assert "hunter2" not in message
    assert "\n" not in message


@contextmanager
def open_mlflow(port):
    """Yield what `assay mlflow` prints as JSON, while its pages are open."""
    arguments = ["mlflow", "--port", str(port), "--no-browser", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", f"from assay.eval.cli.main import main; main({arguments})"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        lines = [process.stdout.readline()]
        while lines[-1] not in (b"}\n", b""):
            lines.append(process.stdout.readline())
        yield json.loads(b"".join(lines))
    finally:
        process.send_signal(2)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.long
@pytest.mark.usefixtures("store")
def test_the_page_that_mlflow_opens_shows_the_runs(summary):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH")
    uri = tracking_uri()
    with connect(uri) as store:
        assert find_page(store) == "#/experiments", "nothing is tracked yet"
    run_id = log_once(summary)
    assert run_id is not None
    with connect(uri) as store:
        name = store.get_run(run_id).info.run_name
    with open_mlflow(find_free_port()) as opened, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=DESKTOP)
        page.goto(opened["runs"])
        page.get_by_text(name).first.wait_for(timeout=30_000)
        for column in ("Hit_at_10", "MRR_at_10", "nDCG_at_10"):
            page.get_by_role("columnheader", name=column).first.wait_for(timeout=5_000)
        browser.close()


def test_the_mlflow_command_names_a_remote_server(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:hunter2@mlflow.example/")
    done = CliRunner().invoke(mlflow_command, ["--no-browser"])
    expected = "MLFLOW_TRACKING_URI is a server; its pages are at https://mlflow.example"
    assert str(done.exception) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_the_mlflow_command_opens_the_same_store_and_ends_all_it_started(summary, tmp_path):
    run_id = log_once(summary)
    port = find_free_port()
    with open_mlflow(port) as opened:
        address = opened["address"]
        assert address == f"http://127.0.0.1:{port}"
        assert client(address).get_run(run_id).info.status == "FINISHED"
        artifact = httpx.get(
            f"{address}/get-artifact?path=run.trec&run_uuid={run_id}", trust_env=False
        )
        assert artifact.content == (summary.run.folder / "run.trec").read_bytes()
        taken = CliRunner().invoke(mlflow_command, ["--port", str(port), "--no-browser"])
        assert isinstance(taken.exception, AssayError)
        assert f"--port {port}: Address already in use" in str(taken.exception)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
