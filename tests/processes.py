"""The command line as a user meets it: a process of its own, called from the project's root."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASSAY = Path(sys.executable).with_name("assay")


def pipelines() -> list[Path]:
    """Return the pipelines among the configs: the files that name one."""
    files = sorted((ROOT / "configs").glob("*.yaml"))
    return [path for path in files if "\nname: " in path.read_text()]


def start(*arguments: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start `assay` with `environment` laid over this process's own."""
    return subprocess.Popen(
        [str(ASSAY), *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for a started process and return what it printed."""
    output, errors = process.communicate(timeout=900)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def find_free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    """Wait until something listens on a loopback port."""
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")
