"""`assay mlflow`: MLflow's web pages on the local tracking store."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

import click

from eval.cli import options
from eval.cli.output import print_json

HOST = "127.0.0.1"
SECONDS_TO_START = 120
SECONDS_TO_END = 10


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@options.JSON
def mlflow(port: int, no_browser: bool, as_json: bool) -> None:
    """Open MLflow on the store that runs are logged to; Ctrl-C ends it.

    It listens on this machine only. Where MLFLOW_TRACKING_URI is a server, that has a page of its
    own, and its address is printed instead.
    """
    from eval.tracking import redact, tracking_uri
    from eval.tracking.store import connect, database, is_server
    from retrievers.base import AssayError

    uri = tracking_uri()
    if is_server(uri):
        raise AssayError(f"MLFLOW_TRACKING_URI is a server; its pages are at {redact(uri)}")
    address = f"http://{HOST}:{port}"
    _check_free(port)
    if (path := database(uri)) and not path.exists():
        with connect(uri):  # makes the tables, safely beside a run that does the same
            pass
    with _server(uri, port) as server:
        if as_json:
            print_json({"address": address, "tracking_uri": redact(uri)})
        else:
            click.echo(f"MLflow on {redact(uri)}: {address} (Ctrl-C ends it)")
        if not no_browser:
            click.launch(address)
        server.wait()


def _check_free(port: int) -> None:
    from retrievers.base import AssayError

    with socket.socket() as probe:
        # As servers do, so that connections just closed do not count as use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise AssayError(
                f"--port {port}: {error.strerror}; name another that is free, from 1 to 65535"
            ) from None


@contextmanager
def _server(uri: str, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield MLflow's server once it answers; end it, with all its processes, after the block."""
    options = ["--host", HOST, "--port", str(port), "--workers", "1"]
    options += ["--uvicorn-opts", "--log-level warning"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryFile() as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options],
            env=_environment(uri),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_up(server, port, output)
            yield server
        except KeyboardInterrupt:
            pass
        finally:
            _end(server)


def _end(server: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with suppress(subprocess.TimeoutExpired):
            server.wait(SECONDS_TO_END)
            return


def _environment(uri: str) -> Mapping[str, str]:
    """Return the environment of the server: the store, which may hold a password, and silence."""
    from eval.tracking.store import artifacts, database

    path = database(uri)
    return {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        **({"MLFLOW_ARTIFACTS_DESTINATION": str(artifacts(path))} if path else {}),
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,
    }


def _wait_until_up(server: "subprocess.Popen[bytes]", port: int, output: IO[bytes]) -> None:
    import httpx

    from eval.tracking import redact
    from retrievers.base import AssayError

    deadline = time.monotonic() + SECONDS_TO_START
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/health", trust_env=False).is_success:
                return
        time.sleep(0.2)
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    raise AssayError(f"MLflow did not start: {redact(lines[-1].strip())}")
