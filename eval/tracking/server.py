"""MLflow's web pages on a local tracking store: a server that this process starts and ends."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from assay.eval.tracking.local import artifacts, database
from assay.eval.tracking.store import connect, find_page, redact
from assay.retrievers.base import AssayError

HOST = "127.0.0.1"
SECONDS_TO_START = 120
SECONDS_TO_END = 10


@dataclass(frozen=True, slots=True)
class Server:
    """MLflow's server: its process, its address, and the address of the table of runs."""

    process: "subprocess.Popen[bytes]"
    address: str
    runs: str


@contextmanager
def serve(uri: str, port: int) -> Iterator[Server]:
    """Yield MLflow's server on the store at `uri`, for this machine only, once it answers.

    It ends with all its processes after the block. Raises AssayError if the port is taken, or if
    it does not start.
    """
    _check_free(port)
    with connect(uri) as client:  # makes the tables, safely while another process does the same
        page = find_page(client)
    options = ["--host", HOST, "--port", str(port), "--workers", "1"]
    options += ["--uvicorn-opts", "--log-level warning"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mlflow", "server", *options],
            env=_environment(uri),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_up(process, port, output)
            address = _locate(port)
            yield Server(process, address, f"{address}/{page}")
        except KeyboardInterrupt:
            pass
        finally:
            _end(process)


def _locate(port: int) -> str:
    return f"http://{HOST}:{port}"


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        # As servers do, so that connections just closed do not count as use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise AssayError(
                f"--port {port}: {error.strerror}; name another that is free, from 1 to 65535"
            ) from None


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
            return


def _environment(uri: str) -> Mapping[str, str]:
    """Return the environment of the server: the store, which may hold a password, and silence."""
    path = database(uri)
    return {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        **({"MLFLOW_ARTIFACTS_DESTINATION": str(artifacts(path))} if path else {}),
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,
    }


def _wait_until_up(process: "subprocess.Popen[bytes]", port: int, output: IO[bytes]) -> None:
    import httpx

    deadline = time.monotonic() + SECONDS_TO_START
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.get(f"{_locate(port)}/health", trust_env=False).is_success:
                return
        time.sleep(0.2)
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    raise AssayError(f"MLflow did not start: {redact(lines[-1].strip())}")
