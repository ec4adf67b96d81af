"""The server of MLflow's pages, with a stub for it: how it is started, waited for and ended."""

import json
import signal
import socket
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from tools.processes import find_free_port

from assay.eval.tracking import server
from assay.eval.tracking.server import serve
from assay.retrievers.base import AssayError

pytestmark = pytest.mark.slow

STUB = """
import http.server, json, os, signal, subprocess, sys
mode, port = os.environ["STUB"], int(sys.argv[sys.argv.index("--port") + 1])
host = sys.argv[sys.argv.index("--host") + 1]
json.dump([sys.argv[1:], dict(os.environ), os.getsid(0), sys.flags.safe_path], open("asked", "w"))
if mode == "dies":
    sys.exit("first\\nError: postgresql://me:pw@db.example/x refused  ")
child = subprocess.Popen(["sleep", "60"], start_new_session=False)
open("child", "w").write(str(child.pid))
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        up = mode != "never" and self.path == "/health" and Handler.asked > 1
        self.send_response(200 if up else 503)
        self.end_headers()
    def log_message(self, *_):
        print("serving  ", flush=True)
http.server.HTTPServer((host, port), Handler).serve_forever()
"""


@pytest.fixture(autouse=True)
def _stub(tmp_path, monkeypatch):
    package = tmp_path / "stub" / "mlflow"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stub"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr(server, "SECONDS_TO_START", 30)
    monkeypatch.setattr(server, "connect", nullcontext)
    monkeypatch.setattr(server, "find_page", lambda uri: f"#/of/{uri}")
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@contextmanager
def start(monkeypatch, mode, uri="sqlite:///x/mlflow.db"):
    monkeypatch.setenv("STUB", mode)
    with serve(uri, find_free_port()) as started:
        yield started


def is_gone(pid, seconds=5):
    """Say whether a process ends in so many seconds."""
    deadline = time.monotonic() + seconds
    while Path(f"/proc/{pid}/exe").exists():  # that of a zombie is a link to nothing
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("uri", ["sqlite:///x/mlflow.db", "postgresql://me:pw@db.example/x"])
def test_it_serves_one_store_to_this_machine_and_ends_with_its_processes(monkeypatch, uri):
    with start(monkeypatch, "up", uri) as started:
        port = started.address.rpartition(":")[2]
        assert started.address == f"http://127.0.0.1:{port}"
        assert started.runs == f"{started.address}/#/of/{uri}"
        arguments, environment, session, safe = json.loads(Path("asked").read_text())
        assert arguments == [
            *("server", "--host", "127.0.0.1", "--port", port, "--workers", "1"),
            *("--uvicorn-opts", "--log-level warning"),
        ]
        assert "pw" not in " ".join(arguments), "all may see the arguments of a process"
        assert (session, safe) == (started.process.pid, True)
        told = {name: value for name, value in environment.items() if name.startswith("MLFLOW_")}
        assert told == {
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_LOGGING_LEVEL": "WARNING",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            "MLFLOW_BACKEND_STORE_URI": uri,
        } | ({"MLFLOW_ARTIFACTS_DESTINATION": "x/mlruns"} if "sqlite" in uri else {})
        with pytest.raises(AssayError) as taken, serve(uri, int(port)):
            pass
        assert str(taken.value) == (
            f"--port {port}: Address already in use; name another that is free, from 1 to 65535"
        )
        assert not is_gone(started.process.pid, 0)
        end = signal.getsignal(signal.SIGTERM)
        assert callable(end)
        with pytest.raises(SystemExit) as ended:
            end(signal.SIGTERM, None)
        assert ended.value.code == 0
        raise KeyboardInterrupt
    assert started.process.returncode == -signal.SIGTERM
    assert is_gone(int(Path("child").read_text()))
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("dies", "MLflow did not start: Error: postgresql://db.example/x refused"),
        ("never", "MLflow did not start: serving"),
    ],
)
def test_one_that_does_not_start_is_one_line(monkeypatch, mode, told):
    if mode == "never":
        monkeypatch.setattr(server, "SECONDS_TO_START", 3)
    begun = time.monotonic()
    with pytest.raises(AssayError) as caught, start(monkeypatch, mode):
        pass
    assert str(caught.value) == told
    assert time.monotonic() - begun < 30
    if mode == "never":
        assert is_gone(int(Path("child").read_text()))
